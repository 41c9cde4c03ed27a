internal import CLibcrypto
internal import HTTPAuth

/// Bytes encrypted and authenticated with AES-256-GCM, after a header that describes the key derivation.
///
/// | bytes | contents |
/// |---|---|
/// | 8 | `NKCRED01` |
/// | 1 | key derivation: 0 for key bytes; otherwise log₂ of scrypt's N, with r = 8 and p = 1 |
/// | 16 | salt |
/// | 16 | check value, which distinguishes a wrong key from damage |
/// | 12 | nonce, random for each write |
/// | … | ciphertext |
/// | 16 | tag, which covers all of the above |
enum SealedBox {
    static let magic = Array("NKCRED01".utf8)
    static let saltCount = 16
    static let checkCount = 16
    static let nonceCount = 12
    static let tagCount = 16
    /// The maximum size of a key file.
    static let maximumKeyFile = 4096
    static let headerCount = 8 + 1 + saltCount + checkCount

    /// N = 2¹⁵: 32 MiB of memory and about a tenth of a second.
    static let defaultCost: UInt8 = 15
    /// The accepted costs. The highest one makes a file cost 128 MiB of memory.
    static let allowedCosts: ClosedRange<UInt8> = 10...17

    /// The header before the nonce.
    struct Header {
        let cost: UInt8
        let salt: [UInt8]
        let check: [UInt8]

        init(_ sealed: [UInt8]) throws(HTTPAuthError) {
            guard sealed.count >= headerCount + nonceCount + tagCount, sealed.starts(with: magic) else {
                throw HTTPAuthError(.storeMalformed, detail: "not a credential file")
            }
            cost = sealed[8]
            guard cost == 0 || allowedCosts.contains(cost) else {
                throw HTTPAuthError(.storeMalformed, detail: "unknown key derivation")
            }
            salt = Array(sealed[9..<9 + saltCount])
            check = Array(sealed[9 + saltCount..<headerCount])
        }
    }

    /// The keys derived from a secret and a salt.
    struct Keys: Sendable {
        let cost: UInt8
        let salt: [UInt8]
        /// The encryption key, 32 bytes.
        let key: Secret
        let check: [UInt8]
    }

    static func deriveKeys(
        _ key: CredentialFile.Key, salt: [UInt8], cost: UInt8? = nil
    ) throws(HTTPAuthError) -> Keys {
        switch key {
        case .file(let path):
            var bytes = try PrivateFile.read(path, limit: maximumKeyFile)
            defer { bytes.wipe() }
            return try deriveKeys(.bytes(Secret(bytes: bytes)), salt: salt, cost: cost)
        case .passphrase(let phrase):
            let cost = cost ?? defaultCost
            guard cost != 0 else {
                throw HTTPAuthError(.storeLocked, detail: "it was encrypted with a key, not a pass-phrase")
            }
            LibcryptoSetup.perform()
            var bytes = [UInt8](repeating: 0, count: 32 + checkCount)
            defer { bytes.wipe() }
            let done = phrase.withBytes { phrase in
                EVP_PBE_scrypt(
                    phrase.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(bitPattern: 1),
                    phrase.count,
                    salt, salt.count, 1 << UInt64(cost), 8, 1, 256 << 20, &bytes, bytes.count)
            }
            guard done == 1 else { throw HTTPAuthError(.unavailable, detail: "libcrypto: scrypt") }
            return Keys(cost: cost, salt: salt, key: Secret(bytes: bytes[..<32]), check: Array(bytes[32...]))
        case .bytes(let secret):
            guard cost ?? 0 == 0 else {
                throw HTTPAuthError(.storeLocked, detail: "it was encrypted with a pass-phrase, not a key")
            }
            guard secret.count >= 32 else {
                throw HTTPAuthError(.storeLocked, detail: "the key must have at least 32 bytes")
            }
            let hash = HashAlgorithm.sha256
            var bytes = try hash.hash("NetKit credential file: key", .bytes(salt), .secret(secret))
            defer { bytes.wipe() }
            let check = try hash.hash("NetKit credential file: check", .bytes(salt), .secret(secret))
            return Keys(cost: 0, salt: salt, key: Secret(bytes: bytes), check: Array(check[..<checkCount]))
        }
    }

    static func seal(_ plain: [UInt8], _ keys: Keys, nonce: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        let header = magic + [keys.cost] + keys.salt + keys.check + nonce
        var cipher = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: tagCount)
        let context = try Context(keys.key, nonce, encrypts: true)
        try context.update(&cipher, with: plain, covering: header)
        try context.finish()
        try check(EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagCount), &tag))
        return header + cipher + tag
    }

    /// Decrypts the contents. Nothing is returned unless the tag is valid.
    static func open(_ sealed: [UInt8], _ header: Header, _ keys: Keys) throws(HTTPAuthError) -> [UInt8] {
        guard Secret(bytes: keys.check) == Secret(bytes: header.check) else {
            throw HTTPAuthError(.storeLocked, detail: "wrong pass-phrase or key")
        }
        let start = headerCount + nonceCount
        let end = sealed.count - tagCount
        var plain = [UInt8](repeating: 0, count: end - start)
        var tag = Array(sealed[end...])
        let context = try Context(keys.key, Array(sealed[headerCount..<start]), encrypts: false)
        try context.update(&plain, with: Array(sealed[start..<end]), covering: Array(sealed[..<start]))
        try check(EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagCount), &tag))
        do throws(HTTPAuthError) {
            try context.finish()
        } catch {
            plain.wipe()
            throw HTTPAuthError(.storeMalformed, detail: "its contents are damaged")
        }
        return plain
    }

    private static func check(_ result: Int32) throws(HTTPAuthError) {
        guard result == 1 else { throw HTTPAuthError(.unavailable, detail: "libcrypto: AES-256-GCM") }
    }

    /// Owns the context of one encryption or decryption.
    private final class Context {
        let pointer: OpaquePointer

        init(_ key: Secret, _ nonce: [UInt8], encrypts: Bool) throws(HTTPAuthError) {
            LibcryptoSetup.perform()
            guard let pointer = EVP_CIPHER_CTX_new() else { throw HTTPAuthError(.unavailable, detail: "libcrypto") }
            self.pointer = pointer
            try check(
                key.withBytes { key in
                    EVP_CipherInit_ex(
                        pointer, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce,
                        encrypts ? 1 : 0)
                })
        }

        deinit {
            EVP_CIPHER_CTX_free(pointer)  // also overwrites the key
        }

        func update(_ output: inout [UInt8], with input: [UInt8], covering header: [UInt8]) throws(HTTPAuthError) {
            var count: Int32 = 0
            try check(EVP_CipherUpdate(pointer, nil, &count, header, Int32(header.count)))
            try check(EVP_CipherUpdate(pointer, &output, &count, input, Int32(input.count)))
        }

        func finish() throws(HTTPAuthError) {
            var rest = [UInt8](repeating: 0, count: 16)
            var count: Int32 = 0
            try check(EVP_CipherFinal_ex(pointer, &rest, &count))
        }
    }
}
