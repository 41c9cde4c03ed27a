// `import WebSocketStream` imports the package whose sessions and servers make the sockets.
@_exported public import HTTPStream
