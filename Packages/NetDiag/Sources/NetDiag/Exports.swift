// Their types stand in this package's API.
@_exported public import HTTPMessage
@_exported public import HostResolver
@_exported public import StreamKit
