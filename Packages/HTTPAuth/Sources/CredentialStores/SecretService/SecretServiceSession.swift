internal import CLibcrypto
internal import HTTPAuth

/// The protection of secrets on the bus: encryption with a key that both sides agreed on, or none.
struct SecretServiceSession {
    /// The object path of the session.
    let path: String
    /// The 16-byte AES key; nil for the algorithm `plain`.
    let key: Secret?

    static let blockSize = 16

    /// Encrypts a secret for the service: session, parameters, value and content type.
    func encrypted(_ secret: Secret) throws(HTTPAuthError) -> DBusValue {
        var (iv, value) = (Secret(""), secret)
        if let key {
            iv = Secret(bytes: try Environment.random(Self.blockSize))
            value = try Self.cipher(secret, key, iv, encrypts: true)
        }
        return .structure([.path(path), .bytes(iv), .bytes(value), .string("text/plain")])
    }

    /// Decrypts a secret from the service.
    func decrypted(_ iv: Secret, _ value: Secret) throws(HTTPAuthError) -> Secret {
        guard let key else { return value }
        guard iv.count == Self.blockSize else { throw Self.failure }
        return try Self.cipher(value, key, iv, encrypts: false)
    }

    /// Applies AES-128-CBC with PKCS #7 padding.
    private static func cipher(
        _ input: Secret, _ key: Secret, _ iv: Secret, encrypts: Bool
    ) throws(HTTPAuthError) -> Secret {
        LibcryptoSetup.perform()
        guard let context = EVP_CIPHER_CTX_new() else { throw HTTPAuthError(.unavailable, detail: "libcrypto") }
        defer { EVP_CIPHER_CTX_free(context) }  // also overwrites the key
        var output = [UInt8](repeating: 0, count: input.count + blockSize)
        defer { output.wipe() }
        var (count, rest): (Int32, Int32) = (0, 0)
        let isDone = key.withBytes { key in
            iv.withBytes { iv in
                input.withBytes { input in
                    EVP_CipherInit_ex(
                        context, EVP_aes_128_cbc(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        iv.baseAddress?.assumingMemoryBound(to: UInt8.self), encrypts ? 1 : 0) == 1
                        && EVP_CipherUpdate(
                            context, &output, &count, input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                            Int32(input.count)) == 1
                }
            }
        }
        guard isDone, output.withUnsafeMutableBytes({ finish(context, $0, Int(count), &rest) }) == 1 else {
            throw failure
        }
        return Secret(bytes: output[..<Int(count + rest)])
    }

    private static func finish(
        _ context: OpaquePointer, _ output: UnsafeMutableRawBufferPointer, _ count: Int, _ rest: inout Int32
    ) -> Int32 {
        EVP_CipherFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: count), &rest)
    }

    private static let failure = HTTPAuthError(
        .storeUnavailable, detail: "the Secret Service sent a password that cannot be decrypted")
}

extension SecretServiceSession {
    /// Our side of a Diffie–Hellman key agreement in the second Oakley group (RFC 2409 §6.2), as the Secret Service API
    /// prescribes. It protects passwords against eavesdroppers on the bus, not against a program that poses as the
    /// service.
    struct KeyAgreement {
        static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
        static let size = 128

        private static let prime =
            "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
            + "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
            + "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF"

        let publicKey: [UInt8]
        private let privateKey: Secret

        /// - Parameter random: 128 secret random bytes.
        init(random: Secret) throws(HTTPAuthError) {
            privateKey = random
            publicKey = try Self.power(Secret(bytes: [2]), privateKey).withBytes { Array($0) }
        }

        /// Returns the key shared with the service: HKDF with SHA-256 (RFC 5869), without salt and info.
        func key(with theirs: Secret) throws(HTTPAuthError) -> Secret {
            let shared = try Self.power(theirs, privateKey)
            let extracted = try Self.mac(Secret(bytes: [UInt8](repeating: 0, count: 32)), shared)
            let expanded = try Self.mac(extracted, Secret(bytes: [1]))
            return expanded.withBytes { Secret(bytes: $0[..<16]) }
        }

        /// Returns `base` to the power of `exponent` modulo the prime, in 128 bytes. Bases that reveal the result are
        /// rejected: 0, 1, and values of at least the prime minus one.
        private static func power(_ base: Secret, _ exponent: Secret) throws(HTTPAuthError) -> Secret {
            LibcryptoSetup.perform()
            let context = BN_CTX_new()
            defer { BN_CTX_free(context) }
            var modulus: OpaquePointer?
            BN_hex2bn(&modulus, prime)
            let (largest, result) = (BN_dup(modulus), BN_new())
            let base = base.withBytes { number($0) }
            let exponent = exponent.withBytes { number($0) }
            defer { for number in [modulus, largest, result, base, exponent] { BN_clear_free(number) } }
            guard let context, let modulus, let largest, let result, let base, let exponent else {
                throw HTTPAuthError(.unavailable, detail: "libcrypto")
            }
            BN_set_flags(exponent, BN_FLG_CONSTTIME)
            var bytes = [UInt8](repeating: 0, count: size)
            defer { bytes.wipe() }
            guard BN_sub_word(largest, 1) == 1, BN_cmp(base, BN_value_one()) > 0, BN_cmp(base, largest) < 0,
                BN_mod_exp(result, base, exponent, modulus, context) == 1,
                BN_bn2binpad(result, &bytes, Int32(size)) == Int32(size)
            else { throw HTTPAuthError(.storeUnavailable, detail: "the Secret Service sent an invalid public key") }
            return Secret(bytes: bytes)
        }

        private static func number(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
            BN_bin2bn(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), nil)
        }

        private static func mac(_ key: Secret, _ data: Secret) throws(HTTPAuthError) -> Secret {
            LibcryptoSetup.perform()
            var output = [UInt8](repeating: 0, count: 32)
            defer { output.wipe() }
            var count = 0
            let result = key.withBytes { key in
                data.withBytes { data in
                    EVP_Q_mac(
                        nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count,
                        data.baseAddress?.assumingMemoryBound(to: UInt8.self), data.count, &output, 32, &count)
                }
            }
            guard result != nil, count == 32 else { throw HTTPAuthError(.unavailable, detail: "libcrypto: HMAC") }
            return Secret(bytes: output)
        }
    }
}
