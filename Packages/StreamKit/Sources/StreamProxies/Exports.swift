@_exported public import StreamTLS
