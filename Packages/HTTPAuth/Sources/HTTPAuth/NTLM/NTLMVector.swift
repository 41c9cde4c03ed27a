/// The computations of NTLM one by one, for `Tools/Conformance`, which compares them with what other projects got.
@_spi(Conformance)
public struct NTLMVector {
    /// The user's name.
    public var user = ""
    /// The domain.
    public var domain = ""
    /// The password.
    public var password = ""
    /// The server's eight bytes.
    public var serverChallenge: [UInt8] = []
    /// The client's eight bytes.
    public var clientChallenge: [UInt8] = []
    /// The time, in eight bytes as they are sent.
    public var time: [UInt8] = []
    /// The target information, as it is sent.
    public var targetInfo: [UInt8] = []

    /// An empty vector.
    public init() {}

    /// What a response is made of.
    public struct Response {
        /// The 16 bytes that prove the password.
        public var proof: [UInt8]
        /// What the proof is about.
        public var blob: [UInt8]
        /// The response in the LM field.
        public var lanManager: [UInt8]
        /// The session's base key.
        public var sessionKey: [UInt8]
    }

    /// The NT hash.
    public func hash() throws(HTTPAuthError) -> [UInt8] {
        try NTHash.of(password: Secret(password)).withBytes { Array($0) }
    }

    /// The key of the response.
    public func responseKey() throws(HTTPAuthError) -> [UInt8] {
        try NTHash.responseKey(NTHash.of(password: Secret(password)), user: user, domain: domain)
    }

    /// The response.
    public func response() throws(HTTPAuthError) -> Response {
        let key = try responseKey()
        let blob = NTLMResponse.blob(
            time: time.reversed().reduce(0) { $0 << 8 | UInt64($1) }, clientChallenge: clientChallenge,
            targetInfo: targetInfo)
        let proof = try NTLMResponse.proof(key: key, challenge: serverChallenge, blob: blob)
        return Response(
            proof: proof, blob: blob,
            lanManager: try NTLMResponse.lanManager(
                key: key, challenge: serverChallenge, clientChallenge: clientChallenge),
            sessionKey: try NTLMResponse.sessionKey(key: key, proof: proof))
    }

    /// The value that stands for a channel binding.
    public static func channelBindingHash(of applicationData: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        try NTLMResponse.channelBindingHash(of: applicationData)
    }

    /// RC4 from the beginning of a stream.
    public static func rc4(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
        var stream = RC4(key: key)
        return stream.apply(to: data)
    }

    /// MD4.
    public static func md4(_ message: [UInt8]) -> [UInt8] { MD4.digest(of: message) }

    /// The keys of a session for one direction.
    public static func sessionKeys(
        _ key: [UInt8], flags: NTLMFlags, fromClient: Bool
    ) throws(HTTPAuthError) -> (signing: [UInt8], sealing: [UInt8]) {
        let session = NTLMSession(key: key, flags: flags)
        let side: NTLMSession.Side = fromClient ? .client : .server
        return (try session.signingKey(side), try session.sealingKey(side))
    }

    /// The signature of the first message of a direction.
    public static func signature(
        of message: [UInt8], key: [UInt8], flags: NTLMFlags, fromClient: Bool
    ) throws(HTTPAuthError) -> [UInt8] {
        try NTLMSession(key: key, flags: flags).signature(of: message, by: fromClient ? .client : .server)
    }

    /// A list of mechanisms as SPNEGO signs it.
    public static func signedList(_ mechanisms: [MechanismIdentifier]) -> [UInt8] {
        SPNEGOInitialToken.signedList(mechanisms)
    }
}
