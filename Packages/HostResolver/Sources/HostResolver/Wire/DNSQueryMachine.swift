internal import DNSWire

/// A query of a list of servers for one question, without sockets, clock or random source.
///
/// Theory of operation. The servers are queried one after another, in rounds, each until its time limit
/// (resolv.conf(5)). A server's turn may take several transmissions: one over TCP if its answer was truncated or did
/// not preserve the case of the letters, and one without EDNS. Earlier transmissions remain valid: a late answer to one of
/// them also ends the query.
///
/// Servers and the boxes in front of them break EDNS in every way: they reject it, drop the query or the answer, answer
/// with another error, or put the pseudo-record where it does not belong. A query with EDNS therefore fails a server only
/// after one without it: at once if the answer cannot be used, after half of the server's time if there is none. What the answer shows about
/// the server and EDNS is reported (``ednsSign``), so that the caller need not wait again. Most failures show nothing: a domain
/// whose own servers fail makes any server fail, with EDNS and without it.
///
/// Some servers change the case of the question in their answers, and some of these have no TCP. Such a server is queried again by UDP without
/// a random case, with a new ID and port: the answer is accepted if it agrees with the first one, which an attacker would have had to
/// forge as well. The server is then reported (``foldingServer``), so that the next queries have no random case.
///
/// A truncated answer is fetched again over TCP. Its records are kept: if every server has failed in the first round or later, they are the
/// result, still marked as truncated. They may be too few, but the caller would have none otherwise.
///
/// An answer is accepted only from the queried server, with the ID of the query, marked as an answer, with our one
/// question, whose letters have the random case of the query (RFC 5452 §9, draft-vixie-dnsext-dns0x20). The driver adds
/// a random port by using a new socket for each transmission. All other datagrams are ignored, so an attacker can
/// neither answer nor end a query. The driver applies the check, ``Transmission/answer(in:)``, on receipt, so that
/// forged datagrams occupy no memory.
struct DNSQueryMachine {
    /// The transport of a transmission.
    enum Transport: Hashable {
        case udp
        case tcp
    }

    /// Bytes to send to a server. Its answer and its failure are reported with the same ``number``.
    struct Transmission: Hashable {
        let number: Int
        let server: SocketAddress
        let transport: Transport
        let bytes: [UInt8]
        /// The ID and the question in ``bytes``, which an answer repeats.
        let id: UInt16
        let question: DNSQuestion
        /// Whether the query has an EDNS record.
        let hasEDNS: Bool

        /// Returns the header and question of an answer to this transmission; nil if the bytes are not one and must be
        /// dropped.
        func answer(in bytes: [UInt8]) -> DNSMessage? {
            guard let head = try? DNSMessage.head(of: bytes), head.header.isResponse, head.header.opcode == 0,
                head.header.id == id
            else { return nil }
            // A server that cannot parse the query may omit the question.
            let isRefusal = head.questions.isEmpty && hasEDNS && head.refusesEDNS
            return isRefusal || head.questions == [question] ? head : nil
        }
    }

    /// The next action of the driver.
    enum Action: Hashable {
        case send(Transmission)
        case wait(until: ContinuousClock.Instant)
        case finish(Result<DNSMessage, ResolverError>)
    }

    /// The largest UDP answer that a query allows, in bytes: one packet on nearly all networks (DNS flag day 2020).
    static let payloadSize: UInt16 = 1232

    /// The size of the header, which precedes the question, in bytes (RFC 1035 §4.1.1).
    private static let headerSize = 12

    private struct Sent {
        let turn: Int
        let transmission: Transmission
        let start: ContinuousClock.Instant
        /// The answer with which one to this transmission must agree; nil for the usual check of the case.
        let expected: DNSMessage?
    }

    /// How it is checked in the current turn that an answer is not forged, beyond its ID and its port.
    private enum CaseCheck {
        /// By the random case of the question.
        case byCase
        /// A query over TCP decides, since this answer has another case; nil if it cannot be used.
        case overTCP(DNSMessage?)
        /// TCP has failed: a second answer must agree with this one.
        case byAgreement(DNSMessage)
    }

    /// The outcomes of the servers so far, in the order of their turns.
    private(set) var outcomes: [ServerOutcome] = []
    /// What the answer shows about its server and EDNS; nil if there is no answer, or it shows nothing.
    private(set) var ednsSign: EDNSSign?
    /// The server of the answer, if it was accepted without a random case because it agrees with another one.
    private(set) var foldingServer: SocketAddress?

    private let question: DNSQuestion
    private let configuration: ResolverConfiguration
    private let turns: [SocketAddress]
    private var turn = 0
    private var transport: Transport
    private var serversWithoutEDNS: Set<SocketAddress>
    private let foldingServers: Set<SocketAddress>
    private var caseCheck = CaseCheck.byCase
    /// The first sign that each server breaks EDNS, which counts once the server answers without it.
    private var signs: [SocketAddress: EDNSSign.Kind] = [:]
    private var mustSend = true
    private var turnEnd: ContinuousClock.Instant?
    /// When the server is queried without EDNS if it has not answered by then; nil if the last query has none.
    private var silenceEnd: ContinuousClock.Instant?
    private var sent: [Sent] = []
    /// The truncated answer with the most records of the type, for the case that no server gives a whole one.
    private var truncated: DNSMessage?
    private var result: Result<DNSMessage, ResolverError>?

    /// Creates a query.
    ///
    /// - Parameters:
    ///   - firstServer: rotates the list of servers, if the configuration requires that.
    ///   - known: the servers that are known to break EDNS.
    ///   - foldingServers: the servers that are known to change the case of questions, and to have no TCP.
    init(
        _ question: DNSQuestion, configuration: ResolverConfiguration, firstServer: Int = 0,
        withoutEDNS known: Set<SocketAddress> = [], folding foldingServers: Set<SocketAddress> = []
    ) {
        self.question = question
        self.configuration = configuration
        let servers = configuration.servers.prefix(ResolverConfiguration.maximumServers)
        let shift = configuration.rotatesServers && !servers.isEmpty ? abs(firstServer % servers.count) : 0
        let round = Array(servers.dropFirst(shift) + servers.prefix(shift))
        turns = (0..<max(configuration.attempts, 1)).flatMap { _ in round }
        transport = configuration.usesTCPOnly ? .tcp : .udp
        serversWithoutEDNS = known
        self.foldingServers = foldingServers
        if turns.isEmpty { result = .failure(ResolverError(.noServers, name: question.name.description)) }
    }

    /// Returns the next action. `random` provides the ID and the case of the letters.
    mutating func next(
        now: ContinuousClock.Instant, using random: inout some RandomNumberGenerator
    ) -> Action {
        if let result { return .finish(result) }
        if let turnEnd, now >= turnEnd, !mustSend { endTurn(.timedOut, now: now) }
        if let result { return .finish(result) }
        if mustSend { return .send(transmission(until: now + turnTimeout, now: now, using: &random)) }
        if let turnEnd, let silenceEnd, now >= silenceEnd {
            if !askForAgreement() { giveUpEDNS(.silence) }
            return .send(transmission(until: turnEnd, now: now, using: &random))
        }
        return .wait(until: silenceEnd ?? turnEnd ?? now)
    }

    /// Accepts bytes received for a transmission. `source` is their sender; nil if the socket is connected to the
    /// server.
    mutating func received(_ bytes: [UInt8], for number: Int, from source: SocketAddress?, now: ContinuousClock.Instant)
    {
        guard result == nil, sent.indices.contains(number) else { return }
        let query = sent[number].transmission
        guard source == nil || source == query.server, let head = query.answer(in: bytes) else { return }
        let isCurrent = isLast(number)
        guard let question = head.questions.first else {
            if isCurrent { serverFailed(.notUnderstood, sign: .rejection, now: now) }
            return
        }
        if question.name.wireForm != query.question.name.wireForm, query.transport == .udp {
            // The answer is forged, or the server does not preserve the case.
            if isCurrent { caseChanged(bytes, query, now: now) }
            return
        }
        if head.header.isTruncated, query.transport == .udp {
            if sent[number].expected == nil, let message = usableAnswer(in: bytes) { keep(message, query) }
            if isCurrent { retryOverTCP() }
            return
        }
        guard let message = usableAnswer(in: bytes) else {
            if isCurrent { serverFailed(.malformed, now: now) }
            return
        }
        if let expected = sent[number].expected, !message.agrees(with: expected) {
            if isCurrent { endTurn(.malformed, now: now) }
            return
        }
        evaluate(message, sent[number], isCurrent: isCurrent, now: now)
    }

    /// Ends the query with a failure of this machine, which no server could remedy.
    mutating func failed(_ error: ResolverError) {
        if result == nil { result = .failure(error.about(question.name.description)) }
    }

    /// Accepts the local failure of a transmission: ``ServerOutcome/Result-swift.struct/unreachable`` or
    /// `connectionFailed`.
    mutating func failed(_ number: Int, _ failure: ServerOutcome.Result, now: ContinuousClock.Instant) {
        guard result == nil, isLast(number), !askForAgreement() else { return }
        // A server that cannot be reached has not seen the query. One that ends the connection may have.
        if failure == .connectionFailed { serverFailed(failure, now: now) } else { endTurn(failure, now: now) }
    }
}

extension DNSQueryMachine {
    /// Whether this is the last transmission of the current turn. Only its failure ends the turn; earlier transmissions
    /// can only provide the answer.
    private func isLast(_ number: Int) -> Bool {
        number == sent.count - 1 && sent[number].turn == turn && !mustSend
    }

    private mutating func evaluate(_ message: DNSMessage, _ query: Sent, isCurrent: Bool, now: ContinuousClock.Instant)
    {
        let (server, hasEDNS) = (query.transmission.server, query.transmission.hasEDNS)
        let failure: ServerOutcome.Result
        var sign: EDNSSign.Kind?
        switch message.responseCode {
        case _ where hasEDNS && message.misplacesEDNS: (failure, sign) = (.malformed, .rejection)
        case .noError where message.isLame: failure = .refused
        case .noError, .nameError:
            outcomes.append(ServerOutcome(server: server, result: .answered, elapsed: query.start.duration(to: now)))
            sign = hasEDNS ? .support : signs[server]
            ednsSign = sign.map { EDNSSign(server: server, kind: $0) }
            if query.expected != nil { foldingServer = server }
            result = .success(message)
            return
        case .serverFailure: failure = .serverFailure
        case .refused: failure = .refused
        case .formatError, .notImplemented, .badVersion: (failure, sign) = (.notUnderstood, .rejection)
        default: failure = .notUnderstood
        }
        if isCurrent { serverFailed(failure, sign: sign, now: now) }
    }

    /// The server has answered the last query with a failure, or unusably. EDNS may be the reason.
    ///
    /// - Parameter sign: what the failure shows about EDNS; nil if it has other reasons as well.
    private mutating func serverFailed(
        _ failure: ServerOutcome.Result, sign: EDNSSign.Kind? = nil, now: ContinuousClock.Instant
    ) {
        guard sent.last?.transmission.hasEDNS == true else { return endTurn(failure, now: now) }
        giveUpEDNS(sign)
        // If the server could not be queried over TCP, the smaller answer may fit into a datagram.
        if failure == .connectionFailed, !configuration.usesTCPOnly { transport = .udp }
        mustSend = true
    }

    /// Returns the answer with the question in the caller's case. Compressed names in its records may point into the
    /// question (RFC 1035 §4.1.4), and would otherwise show the random case of the query.
    private func withOriginalCase(_ bytes: [UInt8]) -> [UInt8] {
        let name = question.name.wireForm
        let range = Self.headerSize..<Self.headerSize + name.count
        guard range.upperBound <= bytes.count, DNSName(wire: Array(bytes[range])) == question.name else { return bytes }
        var bytes = bytes
        bytes.replaceSubrange(range, with: name)
        return bytes
    }

    /// Keeps a truncated answer if it has more records of the type, at the end of its aliases, than the one that is kept.
    private mutating func keep(_ message: DNSMessage, _ query: Transmission) {
        func count(_ message: DNSMessage) -> Int {
            (try? DNSAliasChain(from: question, in: message.answers).records.count) ?? 0
        }
        let isSound = message.responseCode == .noError && !(query.hasEDNS && message.misplacesEDNS)
        if isSound, count(message) > (truncated.map(count) ?? 0) { truncated = message }
    }

    private mutating func retryOverTCP() {
        transport = .tcp
        mustSend = true
    }

    /// The server, or an attacker, has answered with another case of the question: a query over TCP decides.
    private mutating func caseChanged(_ bytes: [UInt8], _ query: Transmission, now: ContinuousClock.Instant) {
        switch caseCheck {
        case .byCase:
            let message = usableAnswer(in: bytes)
            caseCheck = .overTCP(message?.header.isTruncated == true ? nil : message)
            retryOverTCP()
        case .overTCP: retryOverTCP()
        case .byAgreement: endTurn(.malformed, now: now)
        }
    }

    /// Queries the server by UDP without a random case, if it has an answer to be confirmed and the query over TCP has failed. Returns whether
    /// it does.
    private mutating func askForAgreement() -> Bool {
        guard case .overTCP(let answer?) = caseCheck, transport == .tcp else { return false }
        caseCheck = .byAgreement(answer)
        transport = .udp
        mustSend = true
        return true
    }

    /// Decodes an answer, with the question in the caller's case. A record that cannot be read is skipped; nil if the answer is of no use
    /// then, or has other faults.
    private func usableAnswer(in bytes: [UInt8]) -> DNSMessage? {
        guard let (message, skipped) = try? DNSMessage.readable(withOriginalCase(bytes)) else { return nil }
        // An alias leads to the answer, and a record of the type may be all of it.
        let isNeeded = { (type: DNSRecordType) in
            type == .cname || type == question.type && !message.answers.contains { $0.type == type }
        }
        return skipped.contains(where: isNeeded) ? nil : message
    }

    /// The next queries of the server have no EDNS (RFC 6891 §6.2.2).
    private mutating func giveUpEDNS(_ sign: EDNSSign.Kind?) {
        serversWithoutEDNS.insert(turns[turn])
        signs[turns[turn]] = sign
    }

    private mutating func transmission(
        until end: ContinuousClock.Instant, now: ContinuousClock.Instant, using random: inout some RandomNumberGenerator
    ) -> Transmission {
        let id = UInt16.random(in: 0 ... .max, using: &random)
        var asked = question
        var expected: DNSMessage?
        if case .byAgreement(let answer) = caseCheck { expected = answer }
        let wire = question.name.wireForm
        let hasRandomCase = expected == nil && !foldingServers.contains(turns[turn])
        asked.name = DNSName(wire: hasRandomCase ? Self.randomCase(wire, using: &random) : wire.map(Self.lowercase))
        let hasEDNS = configuration.usesEDNS && !serversWithoutEDNS.contains(turns[turn])
        var message = DNSMessage(query: asked, id: id, payloadSize: hasEDNS ? Self.payloadSize : nil)
        message.header.isAuthenticated = configuration.trustsAuthenticatedData
        // Encoding cannot fail: a query has one name of at most 255 bytes.
        let bytes = (try? message.wireForm()) ?? []
        let transmission = Transmission(
            number: sent.count, server: turns[turn], transport: transport, bytes: bytes, id: id, question: asked,
            hasEDNS: hasEDNS)
        sent.append(Sent(turn: turn, transmission: transmission, start: now, expected: expected))
        mustSend = false
        turnEnd = end
        var hasSecondWay = hasEDNS
        if case .overTCP(.some) = caseCheck { hasSecondWay = true }
        silenceEnd = hasSecondWay ? now + now.duration(to: end) / 2 : nil
        return transmission
    }

    private var serverCount: Int { turns.count / max(configuration.attempts, 1) }

    /// The time limit of the current turn. In the first round, each server has the configured time. Each later round
    /// doubles the time and divides it among the servers, which have one second each at least, or the configured time
    /// if it is less.
    private var turnTimeout: Duration {
        let round = turn / serverCount
        if round == 0 { return configuration.timeout }
        return max(configuration.timeout * (1 << round) / serverCount, min(configuration.timeout, .seconds(1)))
    }

    private mutating func endTurn(_ outcome: ServerOutcome.Result, now: ContinuousClock.Instant) {
        let start = sent.first { $0.turn == turn }?.start ?? now
        outcomes.append(ServerOutcome(server: turns[turn], result: outcome, elapsed: start.duration(to: now)))
        turn += 1
        (turnEnd, silenceEnd) = (nil, nil)
        // A second round would only add to the wait for what has arrived.
        guard turn < (truncated == nil ? turns.count : serverCount) else {
            result = truncated.map(Result.success) ?? .failure(failure)
            return
        }
        transport = configuration.usesTCPOnly ? .tcp : .udp
        caseCheck = .byCase
        mustSend = true
    }

    /// The error for the failures of all servers. A failure that a server reported takes precedence over a timeout.
    private var failure: ResolverError {
        let results = Set(outcomes.map(\.result))
        let code: ResolverError.Code =
            if !results.isDisjoint(with: [.serverFailure, .refused, .notUnderstood]) {
                .serverFailed
            } else if results.contains(.malformed) {
                .malformedAnswer
            } else {
                results.contains(.timedOut) ? .timedOut : .temporaryFailure
            }
        let detail = outcomes.map { "\($0.server) \($0.result.rawValue)" }.joined(separator: ", ")
        return ResolverError(code, name: question.name.description, detail: detail, servers: outcomes)
    }

    private static func randomCase(_ wire: [UInt8], using random: inout some RandomNumberGenerator) -> [UInt8] {
        wire.map { byte in isLetter(byte) && Bool.random(using: &random) ? byte ^ 0x20 : byte }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 { isLetter(byte) ? byte | 0x20 : byte }

    /// Whether a byte of a name is a letter. Length bytes are below 64, letters above.
    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte >= 64
    }
}

/// What an answer shows about its server and EDNS.
struct EDNSSign: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// The server has answered a query with EDNS.
        case support
        /// It has answered the query without EDNS after it rejected the one with EDNS as such: by FORMERR, NOTIMP or BADVERS
        /// (RFC 6891 §6.1.3, §7), or by a pseudo-record where it does not belong.
        case rejection
        /// It has answered the query without EDNS after silence about the one with EDNS. A lost datagram and a domain
        /// whose servers are slow look the same.
        case silence
    }

    let server: SocketAddress
    let kind: Kind
}

extension DNSMessage {
    /// Whether this is a lame answer: empty, from a server that is not an authority and does not recurse.
    fileprivate var isLame: Bool {
        answers.isEmpty && !header.isAuthoritative && !header.offersRecursion
    }

    /// Whether a pseudo-record of EDNS is outside the additional section (RFC 6891 §6.1.1), where a record of the answer may be
    /// missing for it.
    fileprivate var misplacesEDNS: Bool {
        answers.contains { $0.type == .opt } || authorities.contains { $0.type == .opt }
    }

    /// Whether two answers to a question are the same, except for the order of the records and their times to live.
    fileprivate func agrees(with other: DNSMessage) -> Bool {
        func content(_ message: DNSMessage) -> Set<DNSRecord> {
            Set(
                message.answers.map { record in
                    var record = record
                    record.timeToLive = 0
                    return record
                })
        }
        return responseCode == other.responseCode && content(self) == content(other)
    }

    fileprivate var refusesEDNS: Bool {
        responseCode == .formatError || responseCode == .notImplemented
    }
}
