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
