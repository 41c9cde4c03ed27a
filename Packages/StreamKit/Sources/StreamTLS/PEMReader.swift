internal import COpenSSL

/// Finds certificates and keys in PEM text (RFC 7468).
enum PEMReader {
    /// Why no key could be read.
    enum KeyFault: Error {
        case absent
        case passwordNeeded
        case passwordWrong
        /// The key of the encryption takes more than ``KeyDerivation/maximumIterations`` to derive.
        case tooMuchWork
        case unreadable(String)
    }

    /// Returns the certificate of each block that has one by its label, in order; nil for one that cannot be read.
    ///
    /// `TRUSTED CERTIFICATE` is a form of OpenSSL that also says what the certificate must not be trusted for. It is not read, since
    /// that would be lost.
    static func certificates(in bytes: [UInt8]) -> [Certificate?] {
        blocks(in: bytes) { ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains($0) }.map { block in
            withMemory(block) { bio in
                defer { ERR_clear_error() }
                // The callback refuses, so that OpenSSL never asks for a password on the terminal.
                return PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil).map {
                    Certificate(X509Handle(owning: $0))
                }
            }
        }
    }

    /// The blocks with certain labels (RFC 7468 §2), each with the text up to the next block. OpenSSL reads one at a time: it would
    /// not go on behind one that it cannot read.
    static func blocks(in bytes: [UInt8], labelled: (String) -> Bool) -> [ArraySlice<UInt8>] {
        let mark = Array("-----BEGIN ".utf8)
        var starts: [Int] = []
        // Editors of other systems begin a file with a byte order mark.
        var line = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        while line < bytes.count {
            if bytes[line...].starts(with: mark) { starts.append(line) }
            line = (bytes[line...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count - 1) + 1
        }
        return zip(starts, starts.dropFirst() + [bytes.count]).compactMap { start, end in
            let block = bytes[start..<end]
            let label = block.dropFirst(mark.count).prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") }
            return labelled(String(decoding: label, as: UTF8.self)) ? block : nil
        }
    }

    /// Returns the first private key in PEM text: PKCS#8, encrypted or not, or one of the older forms. Reads bytes that
    /// begin like DER as one key in DER.
    static func privateKey(in bytes: [UInt8], password: String?) throws(KeyFault) -> PrivateKey {
        OpenSSLSetup.perform()
        ERR_clear_error()
        let block = blocks(in: bytes) { $0.utf8.suffix(11).elementsEqual("PRIVATE KEY".utf8) }.first
        if password != nil, iterations(ofEncrypted: block ?? bytes[...]) > KeyDerivation.maximumIterations {
            throw .tooMuchWork
        }
        let key = withMemory(block ?? bytes[...]) { bio -> OpaquePointer? in
            if bytes.first == 0x30 { return d2i_PrivateKey_bio(bio, nil) }
            guard var password else {
                return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
            }
            return password.withUTF8 { text in
                var text = text
                return withUnsafeMutablePointer(to: &text) { text in
                    PEM_read_bio_PrivateKey(
                        bio, nil,
                        { buffer, capacity, _, context in
                            typealias Text = UnsafeBufferPointer<UInt8>
                            guard let buffer, let text = context?.assumingMemoryBound(to: Text.self).pointee,
                                text.count <= Int(capacity)
                            else { return -1 }
                            UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity))
                                .copyMemory(from: UnsafeRawBufferPointer(text))
                            return CInt(text.count)
                        }, text)
                }
            }
        }
        if let key {
            ERR_clear_error()
            return PrivateKey(owning: key)
        }
        let errors = OpenSSLErrors.take()
        // OpenSSL reports "unsupported" both for text without any key and for a garbled key.
        if !holdsKey(bytes) { throw .absent }
        if errors.contains(PEM_R_BAD_PASSWORD_READ, of: ERR_LIB_PEM)
            || errors.contains(PEM_R_PROBLEMS_GETTING_PASSWORD, of: ERR_LIB_PEM)
        {
            throw .passwordNeeded
        }
        if password != nil { throw .passwordWrong }
        throw .unreadable(errors.text)
    }

    /// The number of iterations that an encrypted key in PKCS#8 asks for; 0 for any other text.
    static func iterations(ofEncrypted text: ArraySlice<UInt8>) -> Int64 {
        withMemory(text) { bio in
            defer { ERR_clear_error() }
            guard let encrypted = PEM_read_bio_PKCS8(bio, nil, { _, _, _, _ in -1 }, nil) else { return 0 }
            defer { X509_SIG_free(encrypted) }
            var algorithm: UnsafePointer<X509_ALGOR>?
            X509_SIG_get0(encrypted, &algorithm, nil)
            return algorithm.flatMap { KeyDerivation.iterations(of: $0) } ?? 0
        }
    }

    private static func holdsKey(_ bytes: [UInt8]) -> Bool {
        let mark = Array("PRIVATE KEY-----".utf8)
        return bytes.first == 0x30
            || bytes.indices.contains { bytes[$0] == mark[0] && bytes[$0...].starts(with: mark) }
    }

    static func withMemory<Result>(_ bytes: ArraySlice<UInt8>, _ body: (OpaquePointer?) -> Result) -> Result {
        OpenSSLSetup.perform()
        return bytes.withUnsafeBytes { bytes in
            let bio = BIO_new_mem_buf(bytes.baseAddress, CInt(clamping: bytes.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }
}

/// Owns a private key of OpenSSL, which wipes the key when it is freed.
package final class PrivateKey {
    private let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Calls `body` with the pointer, which is valid only during the call: outside of it, Swift may release this object
    /// before the pointer's last use.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// Whether this is the private key of the certificate.
    func belongs(to certificate: Certificate) -> Bool {
        guard let handle = X509Handle(der: certificate.der) else { return false }
        defer { ERR_clear_error() }
        return handle.withPointer { certificate in withPointer { X509_check_private_key(certificate, $0) == 1 } }
    }
}

// The key does not change after it is read. OpenSSL locks the caches inside it and counts references atomically.
extension PrivateKey: @unchecked Sendable {}
