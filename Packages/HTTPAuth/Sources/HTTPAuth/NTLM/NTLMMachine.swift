/// A login by NTLMv2: three messages, of which the client writes the first and the third. MS-NLMP section 3.1.5.
///
/// ```swift
/// var machine = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/www.example.org")
/// let first = machine.start()
/// let third = try machine.answer(challenge, time: now, random: random)
/// ```
///
/// What protects the login, in the order in which it is built: the response vouches for time, channel and service (the
/// target information); the session key comes from the response; the integrity code under that key vouches for the bytes
/// of all three messages, so that nobody in between can have turned a protection off. The code is always there: it is
/// announced within the response, and so cannot be taken away.
struct NTLMMachine {
    private enum State {
        case idle
        case negotiated([UInt8])
        case answered(NTLMSession?)
    }

    /// How many random bytes ``answer(_:time:random:)`` takes.
    static let randomByteCount = 24

    private let account: NTLMAccount
    private let channelBinding: [UInt8]?
    private let targetName: String
    private var state = State.idle

    /// Prepares a login.
    ///
    /// - Parameters:
    ///   - channelBinding: The binding of the TLS channel with its prefix, `tls-server-end-point:…`; nil without TLS.
    ///   - targetName: The service that is meant, `HTTP/www.example.org`.
    init(account: NTLMAccount, channelBinding: [UInt8]?, targetName: String) {
        self.account = account
        self.channelBinding = channelBinding
        self.targetName = targetName
    }

    /// The first message.
    mutating func start() -> [UInt8] {
        let message = NTLMNegotiateMessage.ours.bytes
        state = .negotiated(message)
        return message
    }

    /// The third message, in answer to the second.
    ///
    /// - Parameters:
    ///   - time: Units of 100 ns since 1601; the server's own clock is taken if it shows it.
    ///   - random: ``randomByteCount`` bytes that nobody can guess.
    /// - Throws: ``HTTPAuthError`` if the challenge is malformed or wants what we refuse; the login has failed then.
    mutating func answer(_ bytes: [UInt8], time: UInt64, random: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        precondition(random.count == NTLMMachine.randomByteCount)
        guard case .negotiated(let first) = state else { throw .ntlmOutOfOrder }
        state = .idle
        let challenge = try NTLMChallengeMessage(bytes)
        guard challenge.flags.contains(.unicode) else { throw .ntlmRefused("the server does not support Unicode") }
        let flags = challenge.flags.intersection(NTLMNegotiateMessage.ours.flags).union(.version)
        let domain = account.domain ?? challenge.targetName
        for name in [domain, targetName] where name.utf16.count > NTLMAccount.longestName { throw .ntlmNameTooLong }

        var key = try NTHash.responseKey(account.hash, user: account.user, domain: domain)
        defer { key.wipe() }
        let clientChallenge = Array(random[..<8])
        let info = try targetInfo(for: challenge)
        let blob = NTLMResponse.blob(
            time: info.timestamp ?? time, clientChallenge: clientChallenge, targetInfo: info.bytes)
        let proof = try NTLMResponse.proof(key: key, challenge: challenge.challenge, blob: blob)
        // Section 3.1.5.1.2: a server that shows its clock looks at the NT response only.
        let lanManager =
            info.timestamp == nil
            ? try NTLMResponse.lanManager(key: key, challenge: challenge.challenge, clientChallenge: clientChallenge)
            : [UInt8](repeating: 0, count: 24)
        var sessionKey = try NTLMResponse.sessionKey(key: key, proof: proof)
        defer { sessionKey.wipe() }
        var encryptedKey: [UInt8] = []
        if flags.contains(.keyExchange) {
            var stream = RC4(key: sessionKey)
            encryptedKey = stream.apply(to: Array(random[8...]))
            stream.wipe()
            sessionKey.wipe()
            sessionKey = Array(random[8...])
        }
        var message = NTLMAuthenticateMessage(
            flags: flags, domain: domain, user: account.user, workstation: account.workstation,
            lmResponse: lanManager, ntResponse: proof + blob, encryptedSessionKey: encryptedKey, version: .ours,
            mic: [UInt8](repeating: 0, count: 16))
        message.mic = try NTLMDigests.hmacMD5(key: sessionKey, first, bytes, message.bytes)
        let signs = flags.contains(.extendedSessionSecurity) && !flags.isDisjoint(with: [.sign, .alwaysSign])
        state = .answered(signs ? NTLMSession(key: sessionKey, flags: flags) : nil)
        return message.bytes
    }

    /// Keys to sign with, once the third message is made and if the server can sign.
    var session: NTLMSession? {
        if case .answered(let session) = state { session } else { nil }
    }

    /// The server's list with our own values in place of any that it brought: who relays a login would like to choose the
    /// channel and the service that the client vouches for.
    private func targetInfo(for challenge: NTLMChallengeMessage) throws(HTTPAuthError) -> NTLMTargetInfo {
        var info = challenge.targetInfo ?? NTLMTargetInfo()
        info.flags |= NTLMTargetInfo.micFlag
        info[.singleHost] = nil
        info[.channelBindings] =
            if let channelBinding {
                try NTLMResponse.channelBindingHash(of: channelBinding)
            } else {
                [UInt8](repeating: 0, count: 16)
            }
        info[.targetName] = Array(utf16LittleEndian: targetName)
        return info
    }
}
