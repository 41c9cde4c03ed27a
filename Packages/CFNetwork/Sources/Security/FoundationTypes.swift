// What a file with `import Security` sees: the types of CFNetwork and Foundation, and of the C headers.

@_exported public import CFNetwork
@_exported public import SecurityC
@_exported public import SecurityEngine
