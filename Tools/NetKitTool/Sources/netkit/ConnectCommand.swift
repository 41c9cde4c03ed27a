import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// `netkit connect`: a two-way pipe between the standard streams and a port, or a client of a port.
struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects standard input and output to a port, a Unix socket, or a client.",
        discussion: """
            Examples:
              netkit connect localhost:25
              netkit connect localhost 25
              netkit connect --tls imap.example.org:993
              netkit connect --starttls smtp mail.example.org:25
              netkit connect -x socks5h://localhost:9050 10.0.0.1:22
              netkit connect /run/app.sock
              netkit connect --listen 8080
              netkit connect --listen --tls --cert server.pem localhost:8443
              echo hello | netkit connect --udp localhost:7
              ssh -o ProxyCommand='netkit connect -x http://proxy:3128 %h:%p' host

            The end of the input ends the sending direction only. netkit exits when the peer ends the connection. With TLS, \
            the certificates are shown if standard error is a terminal.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Host and port (an IPv6 address in brackets), or the path of a Unix socket, which contains a slash.",
            valueName: "target"), completion: .file())
    var target: String

    @Argument(help: ArgumentHelp("The port, if it is not in TARGET.", valueName: "port"))
    var port: String?

    @Flag(
        name: .shortAndLong,
        help:
            "Listen at a port of this machine, and serve one client. PORT alone is on all addresses; 0 takes a free one."
    )
    var listen = false

    @Flag(
        name: .shortAndLong,
        help: "Use UDP: each read of the input, of at most 16 KiB, is a datagram.")
    var udp = false

    @Option(
        help: ArgumentHelp(
            """
            With --udp, exit when the input has ended and nothing was received for SECONDS. Default: 1; with --listen, never.
            """, valueName: "SECONDS"))
    var wait: Double?

    @Flag(help: "Use TLS from the start. With --listen, --cert is the server's certificate.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "Upgrade to TLS as in this protocol: \(ConnectCommand.protocols).",
            valueName: "PROTOCOL"), completion: .list(StartTLSProtocol.allCases.map(\.rawValue)))
    var starttls: String?

    @Option(
        help: ArgumentHelp(
            "Give up connecting, or waiting for a client, after SECONDS.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print every connection step with its time, and the certificates, on standard error.")
    var report = false

    @Flag(help: "At the end, print one JSON object about the connection on standard error.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    private static let protocols = StartTLSProtocol.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        let target = try endpoint()
        if let starttls {
            if tls { throw ValidationError("--tls and --starttls cannot be combined.") }
            if listen { throw ValidationError("--starttls is for clients: it cannot be combined with --listen.") }
            guard StartTLSProtocol(rawValue: starttls) != nil else {
                throw ValidationError("--starttls '\(starttls)' is not supported; use \(Self.protocols).")
            }
        }
        if !tls, starttls == nil { try connection.requireNoTLS("add --tls or --starttls PROTOCOL") }
        if udp {
            let others = [
                ("--tls", tls), ("--starttls", starttls != nil), ("--report", report), ("--timeout", timeout != nil),
            ]
            if let other = others.first(where: \.1) {
                throw ValidationError("\(other.0) cannot be combined with --udp.")
            }
            if case .unixSocket = target { throw ValidationError("--udp requires a host and port.") }
        } else if wait != nil {
            throw ValidationError("--wait requires --udp.")
        }
        if case .unixSocket = target, tls || starttls != nil {
            throw ValidationError("TLS to a Unix socket is not supported: it has no name for a certificate.")
        }
        if listen || udp || target.isUnixSocket, let option = connection.proxyNames.first {
            let reason = listen ? "--listen" : udp ? "--udp" : "a Unix socket"
            throw ValidationError("\(option) cannot be combined with \(reason).")
        }
        if listen, tls, connection.cert == nil { throw ValidationError("--listen with --tls requires --cert FILE.") }
        if listen, let option = connection.clientNames.first {
            throw ValidationError("\(option) cannot be combined with --listen.")
        }
        try TimeLimit.check(timeout)
        try TimeLimit.check(wait, of: "--wait")
    }

    func endpoint() throws -> ConnectTarget {
        guard let port else { return try ConnectTarget(target, toListen: listen) }
        // As nc's users write it; an IPv6 address needs no brackets then.
        let host = target.contains(":") && !target.hasPrefix("[") ? "[\(target)]" : target
        return try ConnectTarget("\(host):\(port)", toListen: listen)
    }

    func run() async throws {
        if udp { return try await exchangeDatagrams() }
        if listen { return try await serve() }
        let pair: StreamPair
        let security: Security?
        do {
            pair = try await makePair()
            security = try starttls.flatMap { StartTLSProtocol(rawValue: $0) }.map { dialogue in
                Security(dialogue: dialogue, configuration: try connection.tls() ?? TLSConfiguration())
            }
        } catch {
            try fail(error)
        }
        let result = await withNetworkExecutor { [report] in await Self.carry(pair, security, reports: report) }
        if case .failure(let error) = result { try fail(error, pair.report) }
        if json { Terminal.say(JSONOutput.line(facts(pair.report))) }
    }

    func facts(_ report: ConnectionReport) -> JSONOutput.Facts {
        ["target": target, "steps": JSONOutput.steps(report)]
    }

    func fail(_ error: any Error, _ report: ConnectionReport = ConnectionReport()) throws -> Never {
        guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
        if json {
            Terminal.say(JSONOutput.line(facts(report).merging(["error": JSONOutput.error(error)]) { $1 }))
        } else {
            Terminal.say("netkit: \(sentence)")
        }
        throw status.exitCode
    }

    // MARK: - Connecting

    /// The upgrade of an open connection to TLS.
    private struct Security {
        var dialogue: StartTLSProtocol
        var configuration: TLSConfiguration
    }

    private func makePair() async throws -> StreamPair {
        let pair: StreamPair
        switch try endpoint() {
        case .unixSocket(let path):
            pair = StreamPair(address: .unix(try UnixSocketAddress(path: path)))
        case .host(let host, let port):
            pair = StreamPair(host: host, port: port)
            if tls { try pair.set(.tls, to: try connection.tls() ?? TLSConfiguration()) }
            let settings = try connection.settings()
            let choices = settings.choices(scheme: tls ? "https" : "", host: host, port: port)
            let routes =
                settings.script == nil
                ? try choices.routes(tls: settings.tls) : try await decidedRoutes(settings, host, port)
            try pair.set(.proxies, to: routes)
        }
        if let timeout { try pair.set(.openTimeout, to: .seconds(timeout)) }
        return pair
    }

    /// The routes that a proxy script chooses. It decides by URL, so the target becomes an https URL with `--tls`, else a
    /// socket URL.
    private func decidedRoutes(_ settings: ProxySettings, _ host: String, _ port: UInt16) async throws -> [ProxyRoute] {
        var parts = URLComponents()
        parts.scheme = tls ? "https" : "socket"
        parts.host = host.contains(":") ? "[\(host)]" : host
        parts.port = Int(port)
        guard let url = parts.url else { throw StreamError(posix: EINVAL) }
        return try await settings.resolvedRoutes(for: url)
    }

    /// Opens the connection and copies bytes in both directions until it ends.
    private static func carry(
        _ plain: StreamPair, _ security: Security?, reports: Bool
    ) async -> Result<Void, any Error> {
        var pair = plain
        do {
            defer { show(pair, reports: reports) }
            try plain.open()
            try await plain.input.opened()
            if let security {
                pair = try await plain.startingTLS(by: security.dialogue, with: security.configuration)
            }
        } catch {
            pair.close()
            return .failure(error)
        }
        return await ConnectPipe.run(pair)
    }

    /// Prints the steps of opening, if wanted, and the certificates.
    private static func show(_ pair: StreamPair, reports: Bool) {
        if reports { Terminal.say(ShownText(lines: pair.report.description)) }
        guard reports || Terminal.isInteractive, let tls = pair.input[.tlsInformation] else { return }
        for line in CertificateTree.lines(tls, .errors, now: Int64(Date().timeIntervalSince1970)) { Terminal.say(line) }
    }
}
