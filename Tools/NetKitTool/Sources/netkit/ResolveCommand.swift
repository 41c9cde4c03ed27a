import ArgumentParser
import Foundation
import HostResolver
import NetKit

/// `netkit resolve`: names to addresses, addresses to names, and other records of the DNS.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Looks up names and addresses.",
        discussion: """
            Examples:
              netkit resolve www.example.org 192.0.2.7
              netkit resolve --type SRV _imaps._tcp.example.org
              netkit resolve --server 127.0.0.1:5353 --type TXT example.org

            Without --type and --server the system's own way is taken, with its hosts file and other sources; else the DNS \
            servers are asked directly, and a failure says what each of them did.
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

    @Argument(help: "Names, or addresses to find the names of.")
    var names: [String]

    @Option(help: "The type of records to ask the DNS for.")
    var type: RecordType?

    @Option(help: ArgumentHelp("The DNS server to ask, instead of those of resolv.conf.", valueName: "ADDRESS[:PORT]"))
    var server: String?

    @Option(help: ArgumentHelp("Give up on each name after so many seconds.", valueName: "SECONDS"))
    var timeout: Double = 10

    @Flag(help: "Print one JSON object a line for each name.")
    var json = false

    func validate() throws {
        if !(timeout > 0) { throw ValidationError("--timeout is a number of seconds above 0.") }
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
                Terminal.say("netkit: \(error.description)")
                for outcome in error.servers { Terminal.say("  \(outcome.server): \(outcome.result.rawValue)") }
            }
        }
        if let status { throw status.exitCode }
    }

    /// Each answer as text, with its time to live if it is known.
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
            Terminal.print("\(prefix)\(text)\(time.map { "  (for \($0) s)" } ?? "")")
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
    /// The one server that an option names, instead of those of `/etc/resolv.conf`.
    ///
    /// - Throws: `ValidationError` if the text is no address.
    init(askingOnly server: String) throws {
        if let address = SocketAddress(server) {
            self.init(servers: [address])
            return
        }
        guard let address = IPAddress(server) else {
            throw ValidationError("'\(server)' is no address; write 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53.")
        }
        self.init(servers: [.ip(address, port: 53)])
    }
}
