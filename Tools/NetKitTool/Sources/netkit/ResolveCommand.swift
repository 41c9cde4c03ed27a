import ArgumentParser
import DNSWire
import Foundation
import HostResolver
import NetKit

/// `netkit resolve`: resolves names to addresses, addresses to names, and DNS records.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Resolves names, addresses and DNS records.",
        discussion: """
            Examples:
              netkit resolve www.example.org 192.0.2.7
              netkit resolve --type SRV _imaps._tcp.example.org
              netkit resolve --type MX,TXT,CAA example.org
              netkit resolve --short --type HTTPS example.org
              netkit resolve --server 127.0.0.1:5353 --type TXT example.org
              netkit resolve --trace --type MX example.org

            Without --type and --server, the system resolver is used, with /etc/hosts and its other sources. With either, \
            the DNS servers are queried directly, and a failure lists the result of each.
            """
    )

    @Argument(help: "Names to resolve, or addresses to resolve to names.")
    var names: [String]

    @Option(
        name: [.customShort("t"), .long],
        help: ArgumentHelp(
            "The type of DNS record to query: A, AAAA, CAA, CNAME, DS, HTTPS, MX, NAPTR, NS, PTR, SOA, SRV, SVCB, TLSA, TXT, or "
                + "TYPE and a number; repeatable, or separated by commas.",
            valueName: "TYPE"),
        completion: .list(
            "A AAAA CAA CNAME DS HTTPS MX NAPTR NS PTR SOA SRV SVCB TLSA TXT".split(separator: " ").map(String.init)))
    var type: [String] = []

    @Option(help: ArgumentHelp("DNS server to query, instead of those in resolv.conf.", valueName: "ADDRESS[:PORT]"))
    var server: String?

    @Flag(help: "Query over TCP only.")
    var tcp = false

    @Flag(help: "Follow the referrals from the root servers to the answer, and print each. Default type: A.")
    var trace = false

    @Option(help: ArgumentHelp("Give up on each name after SECONDS.", valueName: "SECONDS"))
    var timeout: Double = 10

    @Flag(help: "Print the values only, one per line.")
    var short = false

    @Flag(help: "Print one JSON object per name, one per line.")
    var json = false

    func validate() throws {
        try TimeLimit.check(timeout)
        if short, json { throw ValidationError("--short and --json cannot be combined.") }
        if trace, short { throw ValidationError("--trace and --short cannot be combined.") }
        for name in names {
            if let hint = DigHints.hint(for: name, isOnly: names.count == 1) { throw ValidationError(hint) }
            if trace, IPAddress(name) != nil {
                throw ValidationError("--trace takes names; that of an address ends in in-addr.arpa or ip6.arpa.")
            }
        }
        _ = try types()
    }

    /// The types of `--type`, in order.
    private func types() throws -> [DNSRecordType] {
        try type.flatMap { $0.split(separator: ",") }.map { name in
            guard let type = DNSRecordType(String(name)), type != .opt else {
                throw ValidationError("--type '\(name)' is not a type of DNS records; use one such as MX or TYPE257.")
            }
            if type == .any {
                throw ValidationError("--type ANY is not supported, because servers do not answer it (RFC 8482).")
            }
            return type
        }
    }

    /// An answer: its value, and what is known about it.
    private struct Answer {
        var value: String
        var record: DNSRecord?
        /// The end of the chain of aliases, if the name is one.
        var canonicalName: String?
    }

    func run() async throws {
        let types = try types()
        var configuration = try server.map(ResolverConfiguration.init(askingOnly:))
        if tcp {
            configuration = configuration ?? .system
            configuration?.usesTCPOnly = true
        }
        let isDirect = !types.isEmpty || configuration != nil
        let wire = isDirect ? WireResolver(configuration: configuration, hosts: nil) : nil
        var status: ExitStatus?
        for name in names {
            var answers: [Answer] = []
            var failures: [ResolverError] = []
            var hops: [ResolveTracer.Hop] = []
            for type in types.isEmpty ? [nil] : types.map(Optional.init) {
                do throws(ResolverError) {
                    if trace {
                        try await self.trace(name, type ?? .a, configuration ?? .system, into: &hops)
                    } else {
                        answers += try await self.answers(to: name, type, wire)
                    }
                } catch {
                    failures.append(error)
                }
            }
            if trace {
                if json { show(name, hops, failures.first) }
            } else {
                show(name, answers, failures.first)
            }
            for failure in failures {
                status = status ?? ExitStatus(failure)
                report(failure)
            }
        }
        if let status { throw status.exitCode }
    }

    /// Follows the referrals to a name. Each answer is added to `hops`, also before a failure, and printed unless `--json` is given.
    private func trace(
        _ name: String, _ type: DNSRecordType, _ configuration: ResolverConfiguration,
        into hops: inout [ResolveTracer.Hop]
    ) async throws(ResolverError) {
        guard let host = DNSName(name) else { throw ResolverError(.invalidName, name: name) }
        let tracer = ResolveTracer(
            configuration: configuration, usesTCPOnly: tcp, deadline: .now + .seconds(timeout))
        try await tracer.run(DNSQuestion(host, type)) { hop in
            hops.append(hop)
            if !json { for line in hop.lines { Terminal.print(line) } }
        }
    }

    /// Prints the object of a trace.
    private func show(_ name: String, _ hops: [ResolveTracer.Hop], _ failure: ResolverError?) {
        var facts: JSONOutput.Facts = ["name": name, "trace": hops.map(\.facts)]
        facts["answers"] = hops.last?.records.map { Self.facts(Answer(value: $0.data.presentation, record: $0)) }
        if let failure { facts["error"] = JSONOutput.error(failure) }
        JSONOutput.show(facts)
    }

    private func answers(
        to name: String, _ type: DNSRecordType?, _ wire: WireResolver?
    ) async throws(ResolverError) -> [Answer] {
        let deadline = ContinuousClock.now + .seconds(timeout)
        if let address = IPAddress(name) {
            let resolver: any ReverseResolver = wire ?? SystemResolver.shared
            return try await resolver.names(of: .address(address), until: deadline).map { Answer(value: $0) }
        }
        guard let wire, let type else {
            let resolver: any Resolver = wire ?? SystemResolver.shared
            return try await resolver.addresses(of: name, until: deadline).map { Answer(value: "\($0)") }
        }
        let answer = try await wire.records(type, of: name, until: deadline)
        if answer.isTruncated {
            Terminal.say("netkit: \(name): the answer was truncated, and TCP failed: records may be missing")
        }
        let canonicalName = answer.aliases.isEmpty ? nil : "\(answer.canonicalName)"
        return answer.records.map { record in
            Answer(value: record.data.presentation, record: record, canonicalName: canonicalName)
        }
    }

    /// Prints a failure with the result of each DNS server, or only the servers if none can be reached.
    private func report(_ error: ResolverError) {
        // A server is listed once for each attempt.
        let outcomes = error.servers.map { "\($0.server): \($0.result.rawValue)" }
        guard ExitStatus(error) == .notConnected else {
            Terminal.say("netkit: \(error.description)")
            for (index, outcome) in outcomes.enumerated() where outcomes.firstIndex(of: outcome) == index {
                Terminal.say("  \(outcome)")
            }
            return
        }
        for server in Set(error.servers.map(\.server.description)).sorted() {
            Terminal.say("netkit: DNS server \(server) cannot be reached")
        }
    }

    private func show(_ name: String, _ answers: [Answer], _ failure: ResolverError?) {
        if json {
            var facts: JSONOutput.Facts = ["name": name]
            if !answers.isEmpty || failure == nil { facts["answers"] = answers.map(Self.facts) }
            facts["canonicalName"] = answers.compactMap(\.canonicalName).first
            if let failure { facts["error"] = JSONOutput.error(failure) }
            return JSONOutput.show(facts)
        }
        let prefix: ShownText = names.count > 1 && !short ? "\(name)  " : ""
        let showsType = type.flatMap { $0.split(separator: ",") }.count > 1 && !short
        for answer in answers {
            let kind: ShownText = showsType ? "\(answer.record.map { "\($0.type)  " } ?? "")" : ""
            let time: ShownText = short ? "" : "\(answer.record.map { "  TTL \($0.timeToLive)" } ?? "")"
            Terminal.print("\(prefix)\(kind)\(answer.value)\(time)")
        }
    }

    /// An answer as an object: its value, type and time to live, and the fields of its data.
    private static func facts(_ answer: Answer) -> JSONOutput.Facts {
        guard let record = answer.record else { return ["value": answer.value] }
        var facts: JSONOutput.Facts = [
            "value": answer.value, "type": record.type.description, "ttl": record.timeToLive,
        ]
        for field in record.data.fields {
            facts[field.name] =
                switch field.value {
                case .number(let number): number
                case .text(let text): text
                case .texts(let texts): texts
                }
        }
        return facts
    }
}

extension ResolverConfiguration {
    /// A configuration with the one server of an option, instead of those in `/etc/resolv.conf`.
    ///
    /// - Throws: `ValidationError` if the text is not an address.
    init(askingOnly server: String) throws {
        if let address = SocketAddress(server) {
            self.init(servers: [address])
            return
        }
        guard let address = IPAddress(server) else {
            throw ValidationError("'\(server)' is not an address; use 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53.")
        }
        self.init(servers: [.ip(address, port: 53)])
    }
}
