import DNSWire
import Foundation
@_spi(Packages) import HostResolver
import NetKit

/// Performs a ``ResolutionTrace``: sends its queries, and reports each answer.
struct ResolveTracer {
    /// One answer: the server, its answer, and the time.
    struct Hop {
        var zone: DNSName
        var server: SocketAddress
        var serverName: String
        var time: Duration
        var outcome: ResolutionTrace.Outcome
        /// The zone of a referral.
        var child: DNSName?
        /// The servers of a referral.
        var referred: [ResolutionTrace.Server] = []
        /// The DS records of a referral to a signed zone.
        var delegation: [DNSRecord] = []
    }

    private static let payloadSize: UInt16 = 1232

    /// The servers that name the root servers.
    let configuration: ResolverConfiguration
    let usesTCPOnly: Bool
    let deadline: ContinuousClock.Instant
    /// The port of all servers of referrals, and of the root servers.
    var port: UInt16 = 53
    /// The longest wait for one server.
    var serverTimeout = Duration.seconds(3)

    /// Follows the referrals from the root to the answer.
    ///
    /// - Parameter report: called with each answer, also with those that do not help; the last one is that of the name.
    func run(_ question: DNSQuestion, report: (Hop) -> Void) async throws(ResolverError) {
        var trace = ResolutionTrace(question, rootServers: try await rootServers())
        for _ in 0..<ResolutionTrace.maximumReferrals {
            let hop = try await next(&trace, report)
            switch hop.outcome {
            case .referral: continue
            case .answer: return
            case .noData: throw ResolverError(.noData, name: "\(question.name)")
            case .noSuchName, .useless: throw ResolverError(.hostNotFound, name: "\(question.name)")
            }
        }
        throw ResolverError(.serverFailed, name: "\(question.name)", detail: "too many referrals")
    }

    /// The root servers, as the configured server names them.
    private func rootServers() async throws(ResolverError) -> [ResolutionTrace.Server] {
        var outcomes: [ServerOutcome] = []
        for server in configuration.servers {
            let start = ContinuousClock.now
            do {
                let answer = try await query(server, DNSQuestion(.root, .ns), isRecursive: true)
                let found = ResolutionTrace.servers(in: answer.answers, glue: answer.additionals, from: .root)
                if !found.isEmpty { return found }
                outcomes.append(.init(server: server, result: .answered, elapsed: start.duration(to: .now)))
            } catch {
                outcomes.append(Self.outcome(server, error, since: start))
            }
        }
        if ContinuousClock.now >= deadline { throw ResolverError(.timedOut, name: ".", servers: outcomes) }
        throw ResolverError(.serverFailed, name: ".", detail: "no server names the root servers", servers: outcomes)
    }

    /// The first useful answer of the zone's servers.
    private func next(
        _ trace: inout ResolutionTrace, _ report: (Hop) -> Void
    ) async throws(ResolverError) -> Hop {
        var outcomes: [ServerOutcome] = []
        let zone = trace.zone
        for server in trace.servers {
            for address in await addresses(of: server) {
                let address = SocketAddress.ip(address, port: port)
                let start = ContinuousClock.now
                do {
                    let answer = try await query(address, trace.question, isRecursive: false)
                    let time = start.duration(to: .now)
                    let outcome = trace.take(answer)
                    let isReferral = outcome == .referral
                    let hop = Hop(
                        zone: zone, server: address, serverName: "\(server.name)", time: time, outcome: outcome,
                        child: isReferral ? trace.zone : nil, referred: isReferral ? trace.servers : [],
                        delegation: isReferral ? trace.delegation : [])
                    report(hop)
                    guard case .useless = outcome else { return hop }
                    outcomes.append(.init(server: address, result: .answered, elapsed: time))
                } catch {
                    let failure = Self.outcome(address, error, since: start)
                    outcomes.append(failure)
                    report(
                        Hop(
                            zone: zone, server: address, serverName: "\(server.name)", time: failure.elapsed,
                            outcome: .useless(Self.reason(error, failure))))
                    if ContinuousClock.now >= deadline {
                        throw ResolverError(.timedOut, name: "\(trace.question.name)", servers: outcomes)
                    }
                }
            }
        }
        let name = "\(trace.question.name)"
        // The lookups of the servers' addresses have the same deadline.
        if ContinuousClock.now >= deadline { throw ResolverError(.timedOut, name: name, servers: outcomes) }
        throw ResolverError(
            .serverFailed, name: name, detail: "no server of \(zone) has an answer that helps", servers: outcomes)
    }

    private static func outcome(
        _ server: SocketAddress, _ error: any Error, since start: ContinuousClock.Instant
    ) -> ServerOutcome {
        let isTimeout = (error as? StreamError).map { $0.domain == .posix && $0.code == Int(ETIMEDOUT) } == true
        return .init(server: server, result: isTimeout ? .timedOut : .unreachable, elapsed: start.duration(to: .now))
    }

    private static func reason(_ error: any Error, _ failure: ServerOutcome) -> String {
        if failure.result == .timedOut { return "no answer" }
        guard let error = error as? StreamError, error.domain == .posix else { return "cannot be reached" }
        return "cannot be reached: \(String(cString: strerror(Int32(error.code))))"
    }

    /// The addresses of a server: those of the referral, else those that the configured servers resolve.
    private func addresses(of server: ResolutionTrace.Server) async -> [IPAddress] {
        if !server.addresses.isEmpty { return server.addresses }
        guard let host = try? HostName("\(server.name)") else { return [] }
        let resolver = WireResolver(configuration: configuration, hosts: nil)
        let found = (try? await resolver.addresses(of: host, until: deadline)) ?? []
        return Array(found.prefix(ResolutionTrace.maximumAddresses))
    }

    /// Sends one query, and again over TCP if the answer was truncated.
    private func query(
        _ server: SocketAddress, _ question: DNSQuestion, isRecursive: Bool
    ) async throws -> DNSMessage {
        var message = DNSMessage(query: question, id: .random(in: 0...0xFFFF), payloadSize: Self.payloadSize)
        message.header.wantsRecursion = isRecursive
        // The bit DO (RFC 3225 §3), so that a referral to a signed zone has its DS records.
        if !isRecursive { message.additionals[0].timeToLive = 0x8000 }
        if !usesTCPOnly {
            let answer = try await exchange(message, server, .datagram)
            if !answer.header.isTruncated { return answer }
        }
        return try await exchange(message, server, .stream)
    }

    private func exchange(
        _ query: DNSMessage, _ server: SocketAddress, _ type: SocketType
    ) async throws -> DNSMessage {
        let end = min(deadline, .now + serverTimeout)
        let bytes = try query.wireForm()
        let isStream = type == .stream
        let length = isStream ? [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] : []
        let socket = try await Socket.connected(to: server, type, until: end)
        defer { socket.invalidate() }
        let whole = length + bytes
        try await socket.sendAll(whole.span.bytes, until: end)
        var received: [UInt8] = []
        while true {
            let piece = try await socket.receive(upTo: DNSMessage.maximumSize, until: end).bytes
            if piece.isEmpty, isStream { throw StreamError(posix: ECONNRESET) }
            if isStream {
                received += piece
                guard received.count >= 2 else { continue }
                let size = Int(received[0]) << 8 | Int(received[1])
                guard received.count >= 2 + size else { continue }
                received = Array(received[2..<(2 + size)])
            } else {
                received = piece
            }
            // Another program may send datagrams from the server's address.
            guard let answer = try? DNSMessage(wire: received), answer.header.isResponse,
                answer.header.id == query.header.id, answer.questions == query.questions
            else {
                if isStream { throw StreamError(posix: EBADMSG) }
                continue
            }
            return answer
        }
    }
}

extension ResolveTracer.Hop {
    /// The records of an answer; none for a referral.
    var records: [DNSRecord] {
        if case .answer(let records) = outcome { return records }
        return []
    }

    private var source: ShownText { "from \(server) (\(serverName))  \(Waterfall.milliseconds(time))" }

    /// The lines of `--trace`: those of a referral name the zone below and its servers.
    var lines: [ShownText] {
        switch outcome {
        case .referral:
            [
                "\(child.map { "\($0)" } ?? "")  NS \(referred.map { "\($0.name)" }.joined(separator: " "))"
            ] + delegation.map { "\($0.name)  DS \($0.data.presentation)" } + ["  \(source)"]
        case .answer(let records):
            records.map { "\($0.name)  \($0.type) \($0.data.presentation)  TTL \($0.timeToLive)" } + ["  \(source)"]
        case .noData: ["no record of this type", "  \(source)"]
        case .noSuchName: ["no such name", "  \(source)"]
        case .useless(let reason): ["\(reason)", "  \(source)"]
        }
    }

    /// The object of `--json`.
    var facts: JSONOutput.Facts {
        var facts: JSONOutput.Facts = [
            "zone": "\(zone)", "server": "\(server)", "serverName": serverName, "seconds": time / .seconds(1),
        ]
        if let child {
            facts["referral"] =
                [
                    "zone": "\(child)", "servers": referred.map { "\($0.name)" },
                    "ds": delegation.map(\.data.presentation),
                ] as JSONOutput.Facts
        }
        if case .useless(let reason) = outcome { facts["fault"] = reason }
        return facts
    }
}
