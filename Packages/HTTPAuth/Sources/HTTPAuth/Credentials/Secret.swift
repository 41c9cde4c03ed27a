internal import CLibcrypto

/// Bytes that must not be seen: a password or what is made of one.
///
/// The bytes are kept once, outside Swift's arrays and strings, and overwritten when the last copy goes away. No
/// description, reflection or dump shows them; comparing takes the same time whatever they are.
///
/// ```swift
/// let password = Secret("open sesame")
/// print(password)                                 // Secret(…)
/// password.withBytes { bytes in hash(bytes) }
/// ```
///
/// The `String` or array it was made from is the caller's, and Swift does not overwrite those: read passwords into
/// bytes, make a secret of them at once, and clear them.
public struct Secret: Sendable {
    private let storage: Storage

    /// Makes a secret from text, as UTF-8.
    public init(_ text: String) {
        storage = Storage(text.utf8)
    }

    /// Makes a secret from bytes.
    public init(bytes: some Collection<UInt8>) {
        storage = Storage(bytes)
    }

    /// The number of bytes.
    public var count: Int { storage.bytes.count }

    /// Calls `body` with the bytes, which must not be kept.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(storage.bytes))
    }

    // The memory is written in `init` and then only read until `deinit`, which no other reference survives.
    private final class Storage: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ source: some Collection<UInt8>) {
            bytes = .allocate(byteCount: source.count, alignment: 1)
            bytes.copyBytes(from: source)
        }

        deinit {
            if let address = bytes.baseAddress { OPENSSL_cleanse(address, bytes.count) }
            bytes.deallocate()
        }
    }
}

extension Secret: Equatable {
    /// Whether the bytes are the same, in a time that depends on their number only.
    public static func == (a: Secret, b: Secret) -> Bool {
        a.withBytes { a in
            b.withBytes { b in
                a.count == b.count && (a.isEmpty || CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0)
            }
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `Secret(…)`, whatever the bytes.
    public var description: String { "Secret(…)" }

    /// `Secret(…)`, whatever the bytes.
    public var debugDescription: String { description }

    /// Without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
