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
              netkit resolve --server 127.0.0.1:5353 --type TXT example.org

            Without --type and --server, the system resolver is used, with /etc/hosts and its other sources. With either, \
            the DNS servers are queried directly, and a failure lists the result of each.
            """
    )

    enum RecordType: String, ExpressibleByArgument, CaseIterable {
        case a = "A"
        case aaaa = "AAAA"
        case srv = "SRV"
        case txt = "TXT"
        case mx = "MX"
        case ptr = "PTR"

        init?(argument: String) {
            self.init(rawValue: argument.uppercased())
        }

        var recordType: DNSRecordType {
            switch self {
            case .a: .a
            case .aaaa: .aaaa
            case .srv: .srv
            case .txt: .txt
            case .mx: .mx
            case .ptr: .ptr
            }
        }
    }

    @Argument(help: "Names to resolve, or addresses to resolve to names.")
    var names: [String]

    @Option(help: "The type of DNS record to query.")
    var type: RecordType?

    @Option(help: ArgumentHelp("DNS server to query, instead of those in resolv.conf.", valueName: "ADDRESS[:PORT]"))
    var server: String?

    @Option(help: ArgumentHelp("Give up on each name after SECONDS.", valueName: "SECONDS"))
    var timeout: Double = 10

    @Flag(help: "Print one JSON object per name, one per line.")
    var json = false

    func validate() throws {
        try TimeLimit.check(timeout)
    }

    func run() async throws {
        let configuration = try server.map(ResolverConfiguration.init(askingOnly:))
        let wire = type != nil || server != nil ? WireResolver(configuration: configuration, hosts: nil) : nil
        var status: ExitStatus?
        for name in names {
            do throws(ResolverError) {
                show(name, try await answers(to: name, wire))
            } catch {
                status = error.code == .timedOut ? .timedOut : .nameNotFound
                if json { JSONOutput.show(["name": name, "error": JSONOutput.error(error)]) }
                report(error)
            }
        }
        if let status { throw status.exitCode }
    }

    /// Each answer as text, with its TTL in seconds if known.
    private func answers(to name: String, _ wire: WireResolver?) async throws(ResolverError) -> [(String, UInt32?)] {
        let deadline = ContinuousClock.now + .seconds(timeout)
        if let address = IPAddress(name) {
            let resolver: any ReverseResolver = wire ?? SystemResolver.shared
            return try await resolver.names(of: .address(address), until: deadline).map { ($0, nil) }
        }
        guard let wire, let type else {
            let resolver: any Resolver = wire ?? SystemResolver.shared
            return try await resolver.addresses(of: name, until: deadline).map { ("\($0)", nil) }
        }
        let answer = try await wire.records(type.recordType, of: name, until: deadline)
        return answer.records.map { (ResolveCommand.text($0.data), $0.timeToLive) }
    }

    /// Prints a failure with the result of each DNS server, or only the servers if none can be reached.
    private func report(_ error: ResolverError) {
        guard !error.servers.isEmpty, error.servers.allSatisfy({ $0.result == .unreachable }) else {
            Terminal.say("netkit: \(error.description)")
            for outcome in error.servers { Terminal.say("  \(outcome.server): \(outcome.result.rawValue)") }
            return
        }
        // A server is listed once for each attempt.
        for server in Set(error.servers.map(\.server.description)).sorted() {
            Terminal.say("netkit: DNS server \(server) cannot be reached")
        }
    }

    private func show(_ name: String, _ answers: [(String, UInt32?)]) {
        if json {
            let list = answers.map { answer in
                var object: [String: Any] = ["value": answer.0]
                if let time = answer.1 { object["ttl"] = time }
                return object
            }
            return JSONOutput.show(["name": name, "answers": list])
        }
        let prefix: ShownText = names.count > 1 ? "\(name)  " : ""
        for (text, time) in answers {
            Terminal.print("\(prefix)\(text)\(time.map { "  TTL \($0)" } ?? "")")
        }
    }

    private static func text(_ data: DNSRecordData) -> String {
        switch data {
        case .a(let address): "\(address)"
        case .aaaa(let address): "\(address)"
        case .cname(let name), .ns(let name), .ptr(let name): "\(name)"
        case .mx(let preference, let exchange): "\(preference) \(exchange)"
        case .txt(let strings): strings.map { String(decoding: $0, as: UTF8.self) }.joined()
        case .srv(let priority, let weight, let port, let target): "\(priority) \(weight) \(port) \(target)"
        case .soa(let start): "\(start)"
        case .nsec(let next, let types): "\(next) \(types.map(\.description).joined(separator: " "))"
        case .other(let type, let bytes): "\(type) \(bytes.count) bytes"
        }
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
