// The public API of this package uses types of these modules.
@_exported public import HTTPMessage
@_exported public import HostResolver
@_exported public import StreamKit
