internal import CLibcrypto

/// Secret bytes: a password, or a value derived from one.
///
/// The bytes are stored once, outside Swift's arrays and strings, and overwritten when the last copy is released.
/// Descriptions, reflection and dumps do not show them. Comparison takes the same time for any two values of equal
/// length.
///
/// ```swift
/// let password = Secret("open sesame")
/// print(password)                                 // Secret(…)
/// password.withBytes { bytes in hash(bytes) }
/// ```
///
/// The `String` or array that the secret was created from belongs to the caller, and Swift does not overwrite it. Read
/// passwords into bytes, create the secret from them at once, and clear them.
public struct Secret: Sendable {
    private let storage: Storage

    /// Creates a secret from text, as UTF-8.
    public init(_ text: String) {
        storage = Storage(text.utf8)
    }

    /// Creates a secret from bytes.
    public init(bytes: some Collection<UInt8>) {
        storage = Storage(bytes)
    }

    /// The number of bytes.
    public var count: Int { storage.bytes.count }

    /// Calls `body` with the bytes. The pointer is valid only during the call.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(storage.bytes))
    }

    // Safe to share: the memory is written in `init` and only read until `deinit`, when no other reference exists.
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
    /// Returns whether the bytes are equal, in a time that depends only on their number.
    public static func == (a: Secret, b: Secret) -> Bool {
        a.withBytes { a in
            b.withBytes { b in
                a.count == b.count && (a.isEmpty || CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0)
            }
        }
    }
}

extension Secret: Hashable {
    /// Hashes the number of bytes only, so that the hash value reveals nothing about their values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `Secret(…)`, for any value.
    public var description: String { "Secret(…)" }

    /// `Secret(…)`, for any value.
    public var debugDescription: String { description }

    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension [UInt8] {
    /// Overwrites the bytes and empties the array. Copies of the array are not overwritten.
    package mutating func wipe() {
        withUnsafeMutableBytes { if let address = $0.baseAddress { OPENSSL_cleanse(address, $0.count) } }
        removeAll()
    }
}
