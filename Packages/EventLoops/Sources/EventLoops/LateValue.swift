internal import Glibc

/// A value that is made on first use and kept, such as the functions of a library.
///
/// To make it takes a descriptor. While the process has none, each use makes the value again: an early failure is not remembered.
///
/// ```swift
/// let deflate = LateValue(library: "libz.so.1") { handle, _ in handle.flatMap { dlsym($0, "deflate") } != nil }
/// ```
@_spi(Packages) public final class LateValue<Value: Sendable>: Sendable {
    private let kept = Locked<Value?>(nil)
    private let make: @Sendable () -> (value: Value, isFinal: Bool)

    /// Sets how the value is made.
    ///
    /// - Parameter make: returns the value, and whether it is kept. Several threads may call it at the same time; the first final value
    ///   is kept.
    public init(_ make: @escaping @Sendable () -> (value: Value, isFinal: Bool)) { self.make = make }

    /// The value.
    public var value: Value {
        if let value = kept.withLock({ $0 }) { return value }
        let made = make()
        guard made.isFinal else { return made.value }
        return kept.withLock { value in
            if value == nil { value = made.value }
            return value ?? made.value
        }
    }
}

@_spi(Packages) extension LateValue {
    /// Makes the value from a library, which stays loaded: its threads and exit handlers do not survive its removal.
    ///
    /// - Parameters:
    ///   - library: the library's file.
    ///   - make: returns the value for the library's handle, or for nil and the reason if it cannot be loaded.
    public convenience init(
        library: String, _ make: @escaping @Sendable (_ handle: UnsafeMutableRawPointer?, _ reason: String) -> Value
    ) {
        self.init {
            if let handle = dlopen(library, RTLD_NOW | RTLD_LOCAL) { return (make(handle, ""), true) }
            let reason = dlerror().map { String(cString: $0) } ?? library
            // Only the text says why.
            let isScarcity = [EMFILE, ENFILE].contains { reason.hasSuffix(SystemCall.text(of: $0)) }
            return (make(nil, reason), !isScarcity)
        }
    }
}
