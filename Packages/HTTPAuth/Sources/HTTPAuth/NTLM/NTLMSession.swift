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
