internal import CLibcrypto

/// A hash function in libcrypto.
package enum HashAlgorithm: String, CaseIterable, Sendable {
    case md5 = "MD5"
    case sha256 = "SHA256"
    case sha512Truncated = "SHA512-256"

    /// Returns the hash of the concatenated parts.
    ///
    /// - Throws: ``HTTPAuthError/Code/unavailable`` if libcrypto does not provide the function, such as MD5 in FIPS
    ///   mode.
    package func hash(_ parts: HashPart...) throws(HTTPAuthError) -> [UInt8] {
        let hasher = try Hasher(self)
        for part in parts { try hasher.update(part) }
        return try hasher.finish()
    }

    /// Returns the hash in lowercase hexadecimal digits.
    func hexadecimal(_ parts: HashPart...) throws(HTTPAuthError) -> [UInt8] {
        let hasher = try Hasher(self)
        for part in parts { try hasher.update(part) }
        return Hexadecimal.encode(try hasher.finish())
    }

    /// Returns a hash that is itself secret, in lowercase hexadecimal digits.
    func secretHexadecimal(_ parts: HashPart...) throws(HTTPAuthError) -> Secret {
        let hasher = try Hasher(self)
        for part in parts { try hasher.update(part) }
        var hash = try hasher.finish()
        var digits = Hexadecimal.encode(hash)
        defer {
            OPENSSL_cleanse(&hash, hash.count)
            OPENSSL_cleanse(&digits, digits.count)
        }
        return Secret(bytes: digits)
    }

    /// Owns the context of one hash computation.
    private final class Hasher {
        private let context: OpaquePointer
        private let name: String

        init(_ algorithm: HashAlgorithm) throws(HTTPAuthError) {
            name = algorithm.rawValue
            LibcryptoSetup.perform()
            guard let context = EVP_MD_CTX_new() else { throw HTTPAuthError(.unavailable, detail: "libcrypto") }
            self.context = context
            // The function is fetched each time, because providers can be loaded and unloaded at run time. Fetching is
            // cheaper than hashing.
            guard let function = EVP_MD_fetch(nil, algorithm.rawValue, nil) else {
                throw HTTPAuthError(.unavailable, detail: "libcrypto does not provide \(algorithm.rawValue)")
            }
            defer { EVP_MD_free(function) }
            try check(EVP_DigestInit_ex(context, function, nil))
        }

        deinit {
            EVP_MD_CTX_free(context)  // also overwrites the state
        }

        func update(_ part: HashPart) throws(HTTPAuthError) {
            switch part {
            case .bytes(let bytes): try check(EVP_DigestUpdate(context, bytes, bytes.count))
            case .secret(let secret):
                try check(secret.withBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) })
            case .text(let text):
                var text = text
                try check(text.withUTF8 { EVP_DigestUpdate(context, $0.baseAddress, $0.count) })
            }
        }

        func finish() throws(HTTPAuthError) -> [UInt8] {
            var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
            var count: UInt32 = 0
            try check(EVP_DigestFinal_ex(context, &result, &count))
            return Array(result[..<Int(count)])
        }

        private func check(_ result: Int32) throws(HTTPAuthError) {
            guard result == 1 else { throw HTTPAuthError(.unavailable, detail: "libcrypto: \(name)") }
        }
    }
}

/// An input of a hash.
package enum HashPart {
    case bytes([UInt8])
    case text(String)
    case secret(Secret)
}

extension HashPart: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension Environment {
    /// Returns cryptographically secure random bytes.
    package static func random(_ count: Int) throws(HTTPAuthError) -> [UInt8] {
        LibcryptoSetup.perform()
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, Int32(count)) == 1 else { throw HTTPAuthError(.noRandomness) }
        return bytes
    }
}
