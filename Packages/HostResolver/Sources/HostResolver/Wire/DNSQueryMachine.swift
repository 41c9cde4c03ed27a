/// One question put to a list of servers: no socket, no clock, no random source in here.
///
/// Theory of operation. Servers are asked one after another, round after round, each until its time is over (as resolv.conf(5)
/// says). A turn may take several transmissions to one server: over TCP when the answer was cut or the letters' case did
/// not come back, without EDNS when the server does not understand it. What was sent earlier stays valid: a late answer to it
/// ends the question too.
///
/// An answer counts only if it comes from the server asked, with the number sent, as an answer, with our one question in it,
/// letters in the random case they were sent in (RFC 5452 §9, draft-vixie-dnsext-dns0x20). The driver adds a random port
/// by using a new socket for each transmission. Everything else is ignored, as if it had not come, so that a stranger can
/// neither answer nor end a question. The check is ``Transmission/answer(in:)``, which the driver makes as bytes come, so that
/// what is forged takes no memory and no room either.
struct DNSQueryMachine {
    /// How a transmission travels.
    enum Transport: Hashable {
        case udp
        case tcp
    }

    /// Bytes to send to a server; what comes back is told with the same ``number``.
    struct Transmission: Hashable {
        let number: Int
        let server: SocketAddress
        let transport: Transport
        let bytes: [UInt8]
        /// The number and the question in ``bytes``, which an answer repeats.
        let id: UInt16
        let question: DNSQuestion
        /// EDNS is used.
        let hasExtensions: Bool

        /// The header and question of bytes that are an answer to this transmission; nil for all others, which are to be dropped.
        func answer(in bytes: [UInt8]) -> DNSMessage? {
            guard let head = try? DNSMessage.head(of: bytes), head.header.isResponse, head.header.opcode == 0,
                head.header.id == id
            else { return nil }
            // A server that cannot read the query may leave the question out.
            let isRefusal = head.questions.isEmpty && hasExtensions && head.refusesExtensions
            return isRefusal || head.questions == [question] ? head : nil
        }
    }

    /// What the driver does next.
    enum Action: Hashable {
        case send(Transmission)
        case wait(until: ContinuousClock.Instant)
        case finish(Result<DNSMessage, ResolverError>)
    }

    /// What a server may send in one UDP answer (DNS flag day 2020): fits in one packet nearly everywhere.
    static let payloadSize: UInt16 = 1232

    /// What stands before the question (RFC 1035 §4.1.1).
    private static let headerSize = 12

    private struct Sent {
        let turn: Int
        let transmission: Transmission
        let start: ContinuousClock.Instant
    }

    /// How each server did so far, in the order asked.
    private(set) var outcomes: [ServerOutcome] = []

    private let question: DNSQuestion
    private let configuration: ResolverConfiguration
    private let turns: [SocketAddress]
    private var turn = 0
    private var transport: Transport
    private var withExtensions: Bool
    private var knowNoExtensions: Set<SocketAddress> = []
    private var mustSend = true
    private var turnEnd: ContinuousClock.Instant?
    private var sent: [Sent] = []
    private var result: Result<DNSMessage, ResolverError>?

    /// Begins a question. `firstServer` rotates the list, where the configuration says so.
    init(_ question: DNSQuestion, configuration: ResolverConfiguration, firstServer: Int = 0) {
        self.question = question
        self.configuration = configuration
        let servers = configuration.servers.prefix(ResolverConfiguration.mostServers)
        let shift = configuration.rotatesServers && !servers.isEmpty ? abs(firstServer % servers.count) : 0
        let round = Array(servers.dropFirst(shift) + servers.prefix(shift))
        turns = (0..<max(configuration.attempts, 1)).flatMap { _ in round }
        transport = configuration.usesTCPOnly ? .tcp : .udp
        withExtensions = configuration.usesExtensions
        if turns.isEmpty { result = .failure(ResolverError(.noServers, name: question.name.description)) }
    }

    /// What to do now. Numbers and the case of letters are drawn from `random`.
    mutating func next(
        now: ContinuousClock.Instant, using random: inout some RandomNumberGenerator
    ) -> Action {
        if let result { return .finish(result) }
        if let turnEnd, now >= turnEnd, !mustSend { endTurn(.timedOut, now: now) }
        if let result { return .finish(result) }
        if mustSend { return .send(transmission(now: now, using: &random)) }
        return .wait(until: turnEnd ?? now)
    }

    /// Bytes came for a transmission; `source` is who sent them, nil where the socket cannot have another peer.
    mutating func received(_ bytes: [UInt8], for number: Int, from source: SocketAddress?, now: ContinuousClock.Instant)
    {
        guard result == nil, sent.indices.contains(number) else { return }
        let query = sent[number].transmission
        guard source == nil || source == query.server, let head = query.answer(in: bytes) else { return }
        let isCurrent = isLast(number)
        guard let question = head.questions.first else {
            if isCurrent { retryWithoutExtensions() }
            return
        }
        if question.name.wire != query.question.name.wire, query.transport == .udp {
            // Forged, or a server that does not keep the case: TCP tells.
            if isCurrent { retryOverTCP() }
            return
        }
        if head.header.isTruncated, query.transport == .udp {
            if isCurrent { retryOverTCP() }
            return
        }
        do throws(ResolverError) {
            judge(try DNSMessage(wire: withOwnCase(bytes)), sent[number], isCurrent: isCurrent, now: now)
        } catch {
            if isCurrent { endTurn(.malformed, now: now) }
        }
    }

    /// A transmission failed on this side: ``ServerOutcome/Result-swift.struct/unreachable`` or `connectionFailed`.
    mutating func failed(_ number: Int, _ failure: ServerOutcome.Result, now: ContinuousClock.Instant) {
        if result == nil, isLast(number) { endTurn(failure, now: now) }
    }
}

extension DNSQueryMachine {
    /// Only what came of the last transmission moves the machine on; earlier ones may still bring the answer.
    private func isLast(_ number: Int) -> Bool {
        number == sent.count - 1 && sent[number].turn == turn && !mustSend
    }

    private mutating func judge(_ message: DNSMessage, _ query: Sent, isCurrent: Bool, now: ContinuousClock.Instant) {
        switch message.responseCode {
        case .noError where message.isLame:
            if isCurrent { endTurn(.refused, now: now) }
        case .noError, .nameError:
            outcomes.append(
                ServerOutcome(
                    server: query.transmission.server, result: .answered, elapsed: query.start.duration(to: now)))
            result = .success(message)
        case .formatError where query.transmission.hasExtensions,
            .notImplemented where query.transmission.hasExtensions,
            .badVersion where query.transmission.hasExtensions:
            if isCurrent { retryWithoutExtensions() }
        case .serverFailure:
            if isCurrent { endTurn(.serverFailure, now: now) }
        case .refused:
            if isCurrent { endTurn(.refused, now: now) }
        default:
            if isCurrent { endTurn(.notUnderstood, now: now) }
        }
    }

    /// An answer with the question as it was asked here. Names in its records may lead into the question (RFC 1035 §4.1.4), and
    /// would have letters of the random case that was sent.
    private func withOwnCase(_ bytes: [UInt8]) -> [UInt8] {
        let name = question.name.wire
        let place = Self.headerSize..<Self.headerSize + name.count
        guard place.upperBound <= bytes.count, DNSName(wire: Array(bytes[place])) == question.name else { return bytes }
        var bytes = bytes
        bytes.replaceSubrange(place, with: name)
        return bytes
    }

    private mutating func retryOverTCP() {
        transport = .tcp
        mustSend = true
    }

    /// RFC 6891 §6.2.2: no better than not having EDNS.
    private mutating func retryWithoutExtensions() {
        knowNoExtensions.insert(turns[turn])
        withExtensions = false
        mustSend = true
    }

    private mutating func transmission(
        now: ContinuousClock.Instant, using random: inout some RandomNumberGenerator
    ) -> Transmission {
        let id = UInt16.random(in: 0 ... .max, using: &random)
        var asked = question
        asked.name = DNSName(wire: Self.randomCase(question.name.wire, using: &random))
        var message = DNSMessage(query: asked, id: id, payloadSize: withExtensions ? Self.payloadSize : nil)
        message.header.isAuthenticated = configuration.trustsAuthenticatedData
        // A query has one name of at most 255 bytes: it cannot exceed a limit.
        let bytes = (try? message.wireForm()) ?? []
        let transmission = Transmission(
            number: sent.count, server: turns[turn], transport: transport, bytes: bytes, id: id, question: asked,
            hasExtensions: withExtensions)
        sent.append(Sent(turn: turn, transmission: transmission, start: now))
        mustSend = false
        turnEnd = now + timeLimit
        return transmission
    }

    /// The first round waits the configured time for each server; later rounds double a time that is shared by all.
    private var timeLimit: Duration {
        let serverCount = turns.count / max(configuration.attempts, 1)
        let round = turn / serverCount
        if round == 0 { return configuration.timeout }
        return max(configuration.timeout * (1 << round) / serverCount, min(configuration.timeout, .seconds(1)))
    }

    private mutating func endTurn(_ outcome: ServerOutcome.Result, now: ContinuousClock.Instant) {
        let start = sent.first { $0.turn == turn }?.start ?? now
        outcomes.append(ServerOutcome(server: turns[turn], result: outcome, elapsed: start.duration(to: now)))
        turn += 1
        turnEnd = nil
        guard turn < turns.count else {
            result = .failure(failure)
            return
        }
        transport = configuration.usesTCPOnly ? .tcp : .udp
        withExtensions = configuration.usesExtensions && !knowNoExtensions.contains(turns[turn])
        mustSend = true
    }

    /// The failure of all servers in one: what a server said counts more than its silence.
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
        wire.map { byte in
            // Length bytes are below 64, letters above.
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte >= 64
            return isLetter && Bool.random(using: &random) ? byte ^ 0x20 : byte
        }
    }
}

extension DNSMessage {
    /// No answer from a server that neither owns the name nor asks others: it only points elsewhere.
    fileprivate var isLame: Bool {
        answers.isEmpty && !header.isAuthoritative && !header.offersRecursion
    }

    fileprivate var refusesExtensions: Bool {
        responseCode == .formatError || responseCode == .notImplemented
    }
}
