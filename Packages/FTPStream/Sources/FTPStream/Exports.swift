@_exported public import FTPListing
@_exported public import StreamKit
