// `import HTTPStream` imports the packages whose types its API uses.
@_exported public import HTTPAuth
@_exported public import HTTPMessage
@_exported public import StreamKit
