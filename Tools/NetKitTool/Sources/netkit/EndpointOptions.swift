import ArgumentParser
import Foundation
import NetKit

/// The options that decide where the connections of `netkit get` lead, and from where.
struct EndpointOptions: ParsableArguments {
    @Option(
        name: .customLong("resolve"),
        help: ArgumentHelp(
            "Connect to ADDRESS for the URLs with HOST and PORT; repeatable, with several addresses separated by commas.",
            valueName: "HOST:PORT:ADDRESS"))
    var addresses: [String] = []

    @Option(
        name: .customLong("connect-to"),
        help: ArgumentHelp(
            """
            Connect to HOST2 and PORT2 for the URLs with HOST1 and PORT1; repeatable. ::HOST2:PORT2 is for all URLs, and an \
            empty HOST2 or PORT2 keeps that of the URL.
            """, valueName: "HOST1:PORT1:HOST2:PORT2"))
    var replacements: [String] = []

    @Option(
        help: ArgumentHelp("Connect to the Unix socket PATH; the URL's host is sent as Host.", valueName: "PATH"),
        completion: .file())
    var unixSocket: String?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 only.")
    var usesIPv4Only = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 only.")
    var usesIPv6Only = false

    @Option(
        help: ArgumentHelp(
            "Connect from the address of this network interface, or from this local address.",
            valueName: "NAME|ADDRESS"))
    var interface: String?

    func validate() throws {
        if usesIPv4Only, usesIPv6Only { throw ValidationError("-4 and -6 cannot be combined.") }
        if unixSocket != nil,
            usesIPv4Only || usesIPv6Only || interface != nil || !addresses.isEmpty || !replacements.isEmpty
        {
            throw ValidationError(
                "--unix-socket cannot be combined with -4, -6, --interface, --resolve or --connect-to.")
        }
        _ = try endpoints()
    }

    /// The given options, none of which applies to FTP.
    var names: [String] {
        [
            ("--resolve", !addresses.isEmpty), ("--connect-to", !replacements.isEmpty),
            ("--unix-socket", unixSocket != nil), ("-4", usesIPv4Only), ("-6", usesIPv6Only),
            ("--interface", interface != nil),
        ].filter(\.1).map(\.0)
    }

    /// The given options that no proxy can be combined with.
    var directNames: [String] { names.filter { ["--resolve", "--connect-to", "--unix-socket"].contains($0) } }

    /// Sets the options of the connections.
    func apply(to options: inout HTTPOptions) throws {
        options.endpoints = try endpoints()
        if usesIPv4Only { options.connection[.resolver] = FamilyResolver(families: .v4) }
        if usesIPv6Only { options.connection[.resolver] = FamilyResolver(families: .v6) }
        if let interface { options.connection[.localAddress] = try localAddress(interface) }
    }

    /// The table of endpoints; nil without options for it.
    private func endpoints() throws -> HTTPEndpoints? {
        if let unixSocket {
            guard let address = try? UnixSocketAddress(path: unixSocket) else {
                throw ValidationError("--unix-socket: '\(unixSocket)' is not the path of a socket.")
            }
            return HTTPEndpoints(others: .unixSocket(address))
        }
        if addresses.isEmpty, replacements.isEmpty { return nil }
        var endpoints = HTTPEndpoints()
        for text in addresses {
            let words = Self.words(text)
            let targets = words.dropFirst(2).joined(separator: ":").split(separator: ",").map {
                IPAddress(Self.bare(String($0)))
            }
            guard words.count > 2, let port = UInt16(words[1]), !targets.isEmpty, !targets.contains(nil) else {
                throw ValidationError("--resolve '\(text)' is not HOST:PORT:ADDRESS.")
            }
            for origin in try origins(words[0], port, of: "--resolve '\(text)'") {
                endpoints.origins[origin] = .addresses(targets.compactMap { $0 }.map { .ip($0, port: port) })
            }
        }
        for text in replacements {
            let words = Self.words(text)
            let port = words.count == 4 ? UInt16(words[3].isEmpty ? words[1] : words[3]) : nil
            let host = words.count == 4 ? (words[2].isEmpty ? words[0] : words[2]) : ""
            guard let port, port > 0, !host.isEmpty, (try? HostName(host)) != nil else {
                throw ValidationError("--connect-to '\(text)' is not HOST1:PORT1:HOST2:PORT2 or ::HOST2:PORT2.")
            }
            if words[0].isEmpty, words[1].isEmpty {
                endpoints.others = .host(host, port: port)
                continue
            }
            guard let original = UInt16(words[1]), !words[0].isEmpty else {
                throw ValidationError("--connect-to '\(text)' requires both HOST1 and PORT1, or neither.")
            }
            for origin in try origins(words[0], original, of: "--connect-to '\(text)'") {
                endpoints.origins[origin] = .host(host, port: port)
            }
        }
        return endpoints
    }

    /// The origins with a host and port, of either scheme.
    private func origins(_ host: String, _ port: UInt16, of option: String) throws -> [HTTPOrigin] {
        let text = host.contains(":") ? "[\(host)]" : host
        return try ["http", "https"].map { scheme in
            guard let url = URL(string: "\(scheme)://\(text):\(port)/"), let origin = try? HTTPOrigin(url) else {
                throw ValidationError("\(option): '\(host):\(port)' is not a host and port.")
            }
            return origin
        }
    }

    /// The parts between the colons that are not in brackets; without the brackets.
    private static func words(_ text: String) -> [String] {
        var (words, isInside) = ([""], false)
        for character in text {
            if character == "[" { isInside = true }
            if character == "]" { isInside = false }
            if character == ":", !isInside { words.append("") } else { words[words.count - 1].append(character) }
        }
        return words.enumerated().map { $0 < 2 || words.count == 4 ? bare($1) : $1 }
    }

    private static func bare(_ text: String) -> String {
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    }

    /// The address of an interface, or the address itself.
    private func localAddress(_ text: String) throws -> SocketAddress {
        if let address = IPAddress(Self.bare(text)) { return .ip(address, port: 0) }
        let family: AddressFamilies = usesIPv6Only ? .v6 : .v4
        let interfaces = (try? NetworkSnapshot.current().interfaces) ?? []
        guard let found = interfaces.first(where: { $0.name == text }) else {
            let names = interfaces.map(\.name).joined(separator: ", ")
            throw OutputFile.Failure(description: "There is no interface \(text). The interfaces are \(names).")
        }
        guard let address = found.addresses.map(\.address).first(where: { $0.family == family }) else {
            throw OutputFile.Failure(
                description: "The interface \(text) has no \(usesIPv6Only ? "IPv6" : "IPv4") address.")
        }
        return .ip(address, port: 0)
    }
}

/// A resolver of one address family, on top of the system's.
private struct FamilyResolver: Resolver {
    let families: AddressFamilies

    func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken {
        var request = request
        request.families = families
        return SystemResolver.shared.start(request, handler)
    }
}
