/// The password hash that Windows stores: MD4 of the password in UTF-16LE. For NTLM it is as good as the password.
enum NTHash {
    /// The maximum length of a password, in bytes of UTF-8. Windows accepts 256 characters.
    static let maximumPasswordLength = 64 * 1024

    /// Returns the hash of a password in UTF-8.
    ///
    /// - Throws: ``HTTPAuthError/Code/invalidPassword`` if it is longer than ``maximumPasswordLength`` or not valid UTF-8.
    static func of(password: Secret) throws(HTTPAuthError) -> Secret {
        guard password.count <= maximumPasswordLength else { throw .ntlmPasswordTooLong }
        var units: [UInt8] = []
        units.reserveCapacity(2 * password.count)
        let isBroken = password.withBytes { bytes in
            transcode(bytes.makeIterator(), from: UTF8.self, to: UTF16.self, stoppingOnError: true) {
                units.append(littleEndian: $0)
            }
        }
        var hash = MD4.digest(of: units)
        defer {
            units.wipe()
            hash.wipe()
        }
        guard !isBroken else { throw HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "it is not valid UTF-8") }
        return Secret(bytes: hash)
    }

    /// Returns the NTLMv2 key of an account (MS-NLMP section 3.3.2, `NTOWFv2`). The caller wipes it.
    static func responseKey(_ hash: Secret, user: String, domain: String) throws(HTTPAuthError) -> [UInt8] {
        var key = hash.withBytes { Array($0) }
        defer { key.wipe() }
        return try NTLMDigests.hmacMD5(key: key, Array(utf16LittleEndian: user.uppercasedByCharacter + domain))
    }
}

extension Credential.Proof {
    /// Creates a proof from an NT hash in 32 hexadecimal digits, the form that directories and tools export. Case is
    /// ignored.
    ///
    /// - Throws: ``HTTPAuthError/Code/invalidPassword`` if it is not 32 digits.
    public static func ntHash(hexadecimal: String) throws(HTTPAuthError) -> Credential.Proof {
        let digits = hexadecimal.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 32 else { throw .ntlmHashSize(digits.count / 2) }
        var bytes: [UInt8] = []
        defer { bytes.wipe() }
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { throw .ntlmHashDigits }
            bytes.append(UInt8(high << 4 | low))
        }
        return .ntHash(Secret(bytes: bytes))
    }
}
