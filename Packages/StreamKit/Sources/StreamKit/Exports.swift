// The parts of this package: its users import StreamKit alone.
@_exported public import StreamCore
@_exported public import StreamProxies
@_exported public import StreamSockets
@_exported public import StreamTLS
