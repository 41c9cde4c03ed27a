internal import CLibcrypto

/// MD5 and HMAC-MD5 of the system's libcrypto. Neither is available in FIPS mode, and then NTLM is not either.
enum NTLMDigests {
    static func md5(_ parts: [UInt8]...) throws(HTTPAuthError) -> [UInt8] {
        var message = parts.flatMap { $0 }
        defer { message.wipe() }
        var digest = [UInt8](repeating: 0, count: 16)
        var count = digest.count
        guard EVP_Q_digest(nil, "MD5", nil, message, message.count, &digest, &count) == 1, count == 16 else {
            throw .ntlmUnavailable
        }
        return digest
    }

    static func hmacMD5(key: [UInt8], _ parts: [UInt8]...) throws(HTTPAuthError) -> [UInt8] {
        var message = parts.flatMap { $0 }
        defer { message.wipe() }
        var code = [UInt8](repeating: 0, count: 16)
        var count = 0
        let found = EVP_Q_mac(
            nil, "HMAC", nil, "MD5", nil, key, key.count, message, message.count, &code, code.count, &count)
        guard found != nil, count == 16 else { throw .ntlmUnavailable }
        return code
    }
}
