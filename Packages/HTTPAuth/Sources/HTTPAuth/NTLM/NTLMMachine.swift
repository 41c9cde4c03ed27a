/// The client side of an NTLMv2 login (MS-NLMP section 3.1.5): three messages, of which the client writes the first and
/// third.
///
/// ```swift
/// var machine = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/www.example.org")
/// let first = machine.start()
/// let third = try machine.answer(challenge, time: now, random: random)
/// ```
///
/// The protections build on each other. The response covers the time, the channel and the service (the target
/// information). The session key is derived from the response. The integrity code under that key covers the bytes of
/// all three messages, so an attacker on the path cannot disable a protection. The code is always sent, and the
/// response announces it, so it cannot be removed either.
struct NTLMMachine {
    private enum State {
        case idle
        case negotiated([UInt8])
        case answered(NTLMSession?)
    }

    /// The number of random bytes that ``answer(_:time:random:)`` needs.
    static let randomByteCount = 24

    private let account: NTLMAccount
    private let channelBinding: [UInt8]?
    private let targetName: String
    private var state = State.idle

    /// Creates the machine of one login.
    ///
    /// - Parameters:
    ///   - channelBinding: The TLS channel binding with its prefix, such as `tls-server-end-point:…`; nil without TLS.
    ///   - targetName: The requested service, such as `HTTP/www.example.org`.
    init(account: NTLMAccount, channelBinding: [UInt8]?, targetName: String) {
        self.account = account
        self.channelBinding = channelBinding
        self.targetName = targetName
    }

    /// Creates the machine of a login to a host.
    ///
    /// - Parameter channelBinding: As above.
    /// - Throws: the errors of ``NTLMAccount``.
    init(
        _ credential: Credential, _ options: NTLMOptions, host: String, channelBinding: [UInt8]?
    ) throws(HTTPAuthError) {
        let account = try NTLMAccount(
            user: credential.user, domain: credential.accountDomain, workstation: options.workstation,
            proof: credential.proof)
        self.init(account: account, channelBinding: channelBinding, targetName: options.serviceName ?? "HTTP/\(host)")
    }

    /// Returns the first message.
    mutating func start() -> [UInt8] {
        let message = NTLMNegotiateMessage.ours.bytes
        state = .negotiated(message)
        return message
    }

    /// Returns the third message, the answer to the server's challenge.
    ///
    /// - Parameters:
    ///   - time: The current file time. If the challenge contains the server's clock, that is used instead.
    ///   - random: ``randomByteCount`` cryptographically secure random bytes.
    /// - Throws: ``HTTPAuthError`` if the challenge is malformed or requires an unsupported option. The login has then
    ///   failed.
    mutating func answer(_ bytes: [UInt8], time: UInt64, random: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        precondition(random.count == NTLMMachine.randomByteCount)
        guard case .negotiated(let first) = state else { throw .ntlmOutOfOrder }
        state = .idle
        let challenge = try NTLMChallengeMessage(bytes)
        guard challenge.flags.contains(.unicode) else { throw .ntlmUnsupported("the server does not support Unicode") }
        let flags = challenge.flags.intersection(NTLMNegotiateMessage.ours.flags).union(.version)
        let domain = account.domain ?? challenge.targetName
        for name in [domain, targetName] where name.utf16.count > NTLMAccount.maximumNameLength {
            throw .ntlmNameTooLong
        }

        var key = try NTHash.responseKey(account.hash, user: account.user, domain: domain)
        defer { key.wipe() }
        let clientChallenge = Array(random[..<8])
        let info = try targetInfo(for: challenge)
        let blob = NTLMResponse.blob(
            time: info.timestamp ?? time, clientChallenge: clientChallenge, targetInfo: info.bytes)
        let proof = try NTLMResponse.proof(key: key, challenge: challenge.challenge, blob: blob)
        // Section 3.1.5.1.2: a server that sends its clock checks the NT response only.
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

    /// The signing keys, after the third message and if the server supports signing.
    var session: NTLMSession? {
        if case .answered(let session) = state { session } else { nil }
    }

    /// Returns the server's target information with our own values in place of the server's. A relay would otherwise
    /// choose the channel and the service that the client vouches for.
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

/// The account of a login: its names and the hash of its password.
struct NTLMAccount: Sendable {
    /// The maximum length of a name in UTF-16 code units. It keeps every message field below its limit of 65535 bytes.
    static let maximumNameLength = 1024

    /// The user name, without a leading domain.
    let user: String
    /// The domain; nil if none was given. Then the target name in the server's challenge is used.
    let domain: String?
    /// The name of this machine to send to the server; empty by default.
    let workstation: String
    /// The NT hash of the password.
    let hash: Secret

    /// Creates an account from `user`, `DOMAIN\user` or `user@example.org`. A nonempty `domain` takes precedence over
    /// one in the name.
    ///
    /// - Throws: ``HTTPAuthError`` if the user name is empty (an anonymous login proves nothing) or a name is too long.
    init(user: String, domain: String?, workstation: String = "", proof: Credential.Proof) throws(HTTPAuthError) {
        let parts = user.unicodeScalars.split(separator: "\\", maxSplits: 1, omittingEmptySubsequences: false)
            .map { String($0) }
        let name = parts.count == 2 ? parts[1] : user
        let given = [domain, parts.count == 2 ? parts[0] : nil].compactMap { $0 }.first { !$0.isEmpty }
        guard !name.isEmpty else { throw .ntlmAnonymous }
        for text in [name, given ?? "", workstation] where text.utf16.count > NTLMAccount.maximumNameLength {
            throw .ntlmNameTooLong
        }
        self.user = name
        // `user@example.org` contains its domain. A separate domain would name another account.
        self.domain = given ?? (name.unicodeScalars.contains("@") ? "" : nil)
        self.workstation = workstation
        switch proof {
        case .password(let password): hash = try NTHash.of(password: password)
        case .ntHash(let hash):
            guard hash.count == 16 else { throw .ntlmHashSize(hash.count) }
            self.hash = hash
        }
    }
}
