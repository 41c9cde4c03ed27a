/// The computations of NTLMv2 (MS-NLMP section 3.3.2). This package has none of NTLMv1.
enum NTLMResponse {
    /// Returns the data that the response covers: the time, the client challenge and the target information.
    static func blob(time: UInt64, clientChallenge: [UInt8], targetInfo: [UInt8]) -> [UInt8] {
        var blob: [UInt8] = [1, 1, 0, 0, 0, 0, 0, 0]
        blob.append(littleEndian: time)
        return blob + clientChallenge + [0, 0, 0, 0] + targetInfo + [0, 0, 0, 0]
    }

    /// Returns the 16 bytes that prove the password. They are followed by the blob in the response.
    static func proof(key: [UInt8], challenge: [UInt8], blob: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        try NTLMDigests.hmacMD5(key: key, challenge, blob)
    }

    /// Returns the 24-byte LM response for a server that sends no time.
    static func lanManager(key: [UInt8], challenge: [UInt8], clientChallenge: [UInt8]) throws(HTTPAuthError) -> [UInt8]
    {
        try NTLMDigests.hmacMD5(key: key, challenge, clientChallenge) + clientChallenge
    }

    static func sessionKey(key: [UInt8], proof: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        try NTLMDigests.hmacMD5(key: key, proof)
    }

    /// Returns the value that binds a login to its TLS channel: MD5 of the structure in RFC 2744 section 3.11, with
    /// only the application data set.
    static func channelBindingHash(of applicationData: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        var structure = [UInt8](repeating: 0, count: 16)
        structure.append(littleEndian: UInt32(truncatingIfNeeded: applicationData.count))
        return try NTLMDigests.md5(structure, applicationData)
    }
}

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

/// The signing keys that a login yields, in extended session security (MS-NLMP sections 3.4.4 and 3.4.5).
///
/// HTTP signs nothing with them. SPNEGO signs its mechanism list, so that an attacker on the path cannot shorten it.
struct NTLMSession {
    /// The sender of a message.
    enum Side: String {
        case client = "client-to-server"
        case server = "server-to-client"
    }

    private let key: Secret
    private let flags: NTLMFlags

    init(key: [UInt8], flags: NTLMFlags) {
        self.key = Secret(bytes: key)
        self.flags = flags
    }

    /// Returns the signature of `message`, which must be the first that this side signs.
    func signature(of message: [UInt8], by side: Side) throws(HTTPAuthError) -> [UInt8] {
        let number: [UInt8] = [0, 0, 0, 0]
        var signing = try signingKey(side)
        defer { signing.wipe() }
        var checksum = Array(try NTLMDigests.hmacMD5(key: signing, number, message).prefix(8))
        if flags.contains(.keyExchange) {
            var sealing = try sealingKey(side)
            defer { sealing.wipe() }
            var stream = RC4(key: sealing)
            checksum = stream.apply(to: checksum)
            stream.wipe()
        }
        return [1, 0, 0, 0] + checksum + number
    }

    func signingKey(_ side: Side) throws(HTTPAuthError) -> [UInt8] {
        try derivedKey(length: 16, "session key to \(side.rawValue) signing key magic constant\0")
    }

    func sealingKey(_ side: Side) throws(HTTPAuthError) -> [UInt8] {
        let length = flags.contains(.keys128) ? 16 : flags.contains(.keys56) ? 7 : 5
        return try derivedKey(length: length, "session key to \(side.rawValue) sealing key magic constant\0")
    }

    /// Returns the MD5 of the first bytes of the session key and a text.
    private func derivedKey(length: Int, _ text: String) throws(HTTPAuthError) -> [UInt8] {
        var part = key.withBytes { Array($0.prefix(length)) }
        defer { part.wipe() }
        return try NTLMDigests.md5(part, Array(text.utf8))
    }
}
