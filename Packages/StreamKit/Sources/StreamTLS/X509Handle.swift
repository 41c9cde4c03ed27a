internal import COpenSSL
internal import Glibc

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
        OpenSSLSetup.perform()
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

/// Decodes the small ASN.1 values in certificates.
enum X509Text {
    /// A distinguished name in the notation of RFC 4514, in UTF-8.
    static func name(_ name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        X509_NAME_print_ex(bio, name, 0, netkit_XN_FLAG_RFC2253 & ~UInt(ASN1_STRFLGS_ESC_MSB))
        var start: UnsafeMutablePointer<CChar>?
        let count = netkit_BIO_get_mem_data(bio, &start)
        guard let start, count > 0 else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The content of an ASN.1 string or integer.
    static func bytes(_ string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string, let start = ASN1_STRING_get0_data(string) else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string))))
    }

    /// Seconds since 1970. An unreadable date gives the distant past, so that nothing is valid by mistake.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return .min }
        return Int64(timegm(&parts))
    }

    /// `2026-11-21 08:39:22 UTC`.
    static func date(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return "an unreadable date" }
        func padded(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(Int(parts.tm_year) + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday)) "
            + "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec)) UTC"
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(bytes, EVP_sha256())
    }

    /// Empty if the system's policy forbids the function.
    static func digest(_ bytes: [UInt8], _ function: OpaquePointer?) -> [UInt8] {
        guard let function else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, initialized in
            var count: CUnsignedInt = 0
            let isDone = EVP_Digest(bytes, bytes.count, buffer.baseAddress, &count, function, nil) == 1
            initialized = isDone ? Int(count) : 0
        }
    }

    /// Lower-case hexadecimal digits, as in fingerprints: `a1b2…`.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
