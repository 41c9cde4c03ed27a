// What a file with `import Security` sees: the types of CFNetwork and Foundation, and of the C headers.

@_exported public import CFNetwork
@_exported public import SecurityC
@_exported public import SecurityEngine

/// The same object as an instance of the class that the other side declares.
func bridge<Other: AnyObject>(_ object: some AnyObject) -> Other {
    // unsafeDowncast verifies the class in debug builds, and the two are unrelated.
    Unmanaged<Other>.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}
