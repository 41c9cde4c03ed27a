import ArgumentParser
import Foundation
import NetKit

/// `netkit connect`: a two-way pipe between the terminal and a port.
struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects standard input and output with a port.",
        discussion: """
            Examples:
              netkit connect localhost:25
              netkit connect --tls --report imap.example.org:993
              netkit connect -x socks5h://localhost:9050 10.0.0.1:22
              netkit connect --starttls smtp mail.example.org:25
              ssh -o ProxyCommand='netkit connect -x http://proxy:3128 %h:%p' host

            The end of the input is passed on, and what still comes is written; the end of the connection ends the program.
            """
    )

    @Argument(help: ArgumentHelp("Where to; an IPv6 address in brackets.", valueName: "host:port"))
    var target: String

    @Flag(help: "TLS from the start.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "Ask for TLS as this protocol does, and go on once it is there: \(ConnectCommand.protocols).",
            valueName: "PROTOCOL"))
    var starttls: String?

    @Option(help: ArgumentHelp("Give up connecting after so many seconds.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print every step of connecting with its time on standard error.")
    var report = false

    @Flag(help: "At the end print one JSON object about the connection on standard error.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    private static let protocols = StartTLSProtocol.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        _ = try place()
        if let starttls {
            if tls { throw ValidationError("--tls and --starttls exclude each other.") }
            guard StartTLSProtocol(rawValue: starttls) != nil else {
                throw ValidationError("--starttls '\(starttls)' is none of \(Self.protocols).")
            }
        }
        if !tls, starttls == nil { try connection.requireNoTLS("add --tls or --starttls PROTOCOL") }
        if let timeout, !(timeout > 0) { throw ValidationError("--timeout is a number of seconds above 0.") }
    }

    /// Host and port.
    private func place() throws -> (String, UInt16) {
        guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]), port > 0
        else { throw ValidationError("'\(target)' is no HOST:PORT.") }
        var host = target[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw ValidationError("'\(target)': an IPv6 address stands in brackets.")
        }
        if host.isEmpty { throw ValidationError("'\(target)' names no host.") }
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
        } catch let error as StreamError {
            try fail(error, ExitStatus(error, after: nil))
        } catch let error as OutputFile.Failure {
            try fail(error, .localFile)
        }
        let result = await withNetworkExecutor { await Self.carry(pair, security, reports: report) }
        switch result {
        case .success: break
        case .failure(let error as StreamError): try fail(error, ExitStatus(error, after: nil), pair.report)
        case .failure(let error): try fail(error, .localFile, pair.report)
        }
        if json { Terminal.say(JSONOutput.line(facts(pair.report))) }
    }

    private func facts(_ report: ConnectionReport) -> JSONOutput.Facts {
        ["target": target, "steps": JSONOutput.steps(report)]
    }

    private func fail(
        _ error: any Error, _ status: ExitStatus, _ report: ConnectionReport = ConnectionReport()
    ) throws -> Never {
        if json {
            Terminal.say(JSONOutput.line(facts(report).merging(["error": JSONOutput.error(error)]) { $1 }))
        } else {
            Terminal.say("netkit: \(error)")
        }
        throw status.exitCode
    }

    /// How TLS begins on a connection that is open.
    private struct Security {
        var dialogue: StartTLSProtocol
        var configuration: TLSConfiguration
    }

    private func makePair() async throws -> StreamPair {
        let (host, port) = try place()
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

    /// What a script says, which wants a URL: one of TLS where there is TLS, else of a socket.
    private func decidedRoutes(_ settings: ProxySettings, _ host: String, _ port: UInt16) async throws -> [ProxyRoute] {
        var place = URLComponents()
        place.scheme = tls ? "https" : "socket"
        place.host = host.contains(":") ? "[\(host)]" : host
        place.port = Int(port)
        guard let url = place.url else { throw StreamError(posix: EINVAL) }
        return try await settings.resolvedRoutes(for: url)
    }

    /// Carries bytes until the connection ends.
    private static func carry(
        _ plain: StreamPair, _ security: Security?, reports: Bool
    ) async -> Result<Void, any Error> {
        var pair = plain
        defer { pair.close() }
        do {
            defer { if reports { Terminal.say(ShownText(lines: pair.report.description)) } }
            try plain.open()
            try await plain.input.opened()
            if let security {
                pair = try await plain.startingTLS(by: security.dialogue, with: security.configuration)
            }
        } catch {
            return .failure(error)
        }
        // Standard input may be a file, a terminal or a pipe: a thread reads them all.
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
            return .success(())  // who reads has seen enough
        } catch {
            return .failure(error)
        }
    }

    /// Sends standard input up to its end. What fails here is told by reading.
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
