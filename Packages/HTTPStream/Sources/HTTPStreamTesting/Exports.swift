// `import HTTPStreamTesting` imports the packages whose types its API uses.
@_exported public import HTTPStream
