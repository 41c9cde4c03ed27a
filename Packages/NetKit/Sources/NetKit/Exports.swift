// `import NetKit` imports every package.
@_exported public import EventLoops
@_exported public import FTPStream
@_exported public import HTTPAuth
@_exported public import HTTPMessage
@_exported public import HTTPStream
@_exported public import HostResolver
@_exported public import NetDiag
@_exported public import ServiceDiscovery
@_exported public import StreamKit
