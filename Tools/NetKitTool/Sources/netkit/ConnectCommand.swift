import ArgumentParser
import Foundation
import NetKit

/// `netkit connect`: a two-way pipe between the standard streams and a port.
struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects standard input and output to a port.",
        discussion: """
            Examples:
              netkit connect localhost:25
              netkit connect --tls --report imap.example.org:993
              netkit connect -x socks5h://localhost:9050 10.0.0.1:22
              netkit connect --starttls smtp mail.example.org:25
              ssh -o ProxyCommand='netkit connect -x http://proxy:3128 %h:%p' host

            The end of the input ends the sending direction only. netkit exits when the server ends the connection.
            """
    )

    @Argument(help: ArgumentHelp("Host and port; an IPv6 address in brackets.", valueName: "host:port"))
    var target: String

    @Flag(help: "Use TLS from the start.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "Upgrade to TLS as in this protocol: \(ConnectCommand.protocols).",
            valueName: "PROTOCOL"))
    var starttls: String?

    @Option(help: ArgumentHelp("Give up connecting after SECONDS.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print every connection step with its time on standard error.")
    var report = false

    @Flag(help: "At the end, print one JSON object about the connection on standard error.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    private static let protocols = StartTLSProtocol.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        _ = try endpoint()
        if let starttls {
            if tls { throw ValidationError("--tls and --starttls cannot be combined.") }
            guard StartTLSProtocol(rawValue: starttls) != nil else {
                throw ValidationError("--starttls '\(starttls)' is not supported; use \(Self.protocols).")
            }
        }
        if !tls, starttls == nil { try connection.requireNoTLS("add --tls or --starttls PROTOCOL") }
        try TimeLimit.check(timeout)
    }

    /// The host and port of the target.
    private func endpoint() throws -> (String, UInt16) {
        guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]), port > 0
        else { throw ValidationError("'\(target)' is not HOST:PORT; a port is 1 to 65535.") }
        var host = target[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw ValidationError("'\(target)': put an IPv6 address in brackets, as in [::1]:22.")
        }
        if host.isEmpty { throw ValidationError("'\(target)' has no host.") }
        return (String(host), port)
    }

    func run() async throws {
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
        let result = await withNetworkExecutor { await Self.carry(pair, security, reports: report) }
        if case .failure(let error) = result { try fail(error, pair.report) }
        if json { Terminal.say(JSONOutput.line(facts(pair.report))) }
    }

    private func facts(_ report: ConnectionReport) -> JSONOutput.Facts {
        ["target": target, "steps": JSONOutput.steps(report)]
    }

    private func fail(_ error: any Error, _ report: ConnectionReport = ConnectionReport()) throws -> Never {
        guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
        if json {
            Terminal.say(JSONOutput.line(facts(report).merging(["error": JSONOutput.error(error)]) { $1 }))
        } else {
            Terminal.say("netkit: \(sentence)")
        }
        throw status.exitCode
    }

    /// The upgrade of an open connection to TLS.
    private struct Security {
        var dialogue: StartTLSProtocol
        var configuration: TLSConfiguration
    }

    private func makePair() async throws -> StreamPair {
        let (host, port) = try endpoint()
        let pair = StreamPair(host: host, port: port)
        if let timeout { try pair.set(.openLimit, to: .seconds(timeout)) }
        if tls { try pair.set(.tls, to: try connection.tls() ?? TLSConfiguration()) }
        let settings = try connection.settings()
        let choices = settings.choices(scheme: tls ? "https" : "", host: host, port: port)
        let routes =
            settings.script == nil
            ? try choices.routes(tls: settings.tls) : try await decidedRoutes(settings, host, port)
        try pair.set(.proxies, to: routes)
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
        defer { pair.close() }
        do {
            defer { if reports { show(pair) } }
            try plain.open()
            try await plain.input.opened()
            if let security {
                pair = try await plain.startingTLS(by: security.dialogue, with: security.configuration)
            }
        } catch {
            return .failure(error)
        }
        // Standard input may be a file, which cannot be polled, so a thread reads it with blocking calls.
        let output = pair.output
        Thread.detachNewThread { send(to: output) }
        let received = OutputFile()
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        do {
            while case let count = try await pair.input.read(into: &buffer), count > 0 {
                try received.write(buffer.span.bytes.extracting(..<count))
            }
            return .success(())
        } catch let failure as OutputFile.Failure where failure.isBrokenPipe {
            return .success(())  // the reader of the output has closed the pipe
        } catch {
            return .failure(error)
        }
    }

    /// Prints the steps of opening, and the certificates.
    private static func show(_ pair: StreamPair) {
        Terminal.say(ShownText(lines: pair.report.description))
        guard let tls = pair.input[.tlsInformation] else { return }
        for line in CertificateTree.lines(tls, .errors, now: Int64(Date().timeIntervalSince1970)) { Terminal.say(line) }
    }

    /// Sends standard input to its end. A failure is not reported here: reading from the same connection reports it.
    private static func send(to output: WriteStream) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        do throws(StreamError) {
            while true {
                let count = Foundation.read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                try output.writeAll(Array(buffer[..<count]))
            }
            try output.finish()
        } catch {}
    }
}
