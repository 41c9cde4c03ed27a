internal import COpenSSL

/// Owns a certificate that OpenSSL has parsed.
final class X509Handle {
    private let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    /// Adds a reference to a certificate that has another owner.
    convenience init(sharing pointer: OpaquePointer) {
        X509_up_ref(pointer)
        self.init(owning: pointer)
    }

    /// Parses DER. Returns nil if it is not a certificate, or if bytes follow it.
    init?(der: [UInt8]) {
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &position, bytes.count) else { return nil }
            if position == bytes.baseAddress.map({ $0 + bytes.count }) { return certificate }
            X509_free(certificate)
            return nil
        }
        guard let parsed else {
            ERR_clear_error()
            return nil
        }
        pointer = parsed
    }

    deinit {
        X509_free(pointer)
    }

    /// Calls `body` with the pointer, which is valid only during the call: outside of it, Swift may release this object
    /// before the pointer's last use.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// The DER encoding.
    static func der(of certificate: OpaquePointer) -> [UInt8] {
        encoded { i2d_X509(certificate, $0) }
    }

    /// The output of an `i2d` function.
    static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt) -> [UInt8] {
        let count = Int(encode(nil))
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var position = buffer.baseAddress
            initialized = max(0, Int(encode(&position)))
        }
    }

    /// The certificates of a stack that has another owner. `first` comes first, whether or not the stack contains it.
    static func values(of stack: OpaquePointer?, after first: OpaquePointer? = nil) -> [Certificate] {
        var values = first.map { [Certificate(X509Handle(sharing: $0))] } ?? []
        guard let stack else { return values }
        for index in 0..<max(0, OPENSSL_sk_num(stack)) {
            guard let other = OPENSSL_sk_value(stack, index).map(OpaquePointer.init), other != first else { continue }
            let value = Certificate(X509Handle(sharing: other))
            if first == nil || value != values[0] { values.append(value) }
        }
        return values
    }
}

extension X509Handle: Equatable {
    /// Whether both are the same OpenSSL object. A certificate that is parsed twice makes two unequal handles.
    static func == (left: X509Handle, right: X509Handle) -> Bool { left.pointer == right.pointer }
}

// A parsed certificate is only read. OpenSSL allows that from any number of threads: it locks the caches inside, and
// counts references atomically.
extension X509Handle: @unchecked Sendable {}
