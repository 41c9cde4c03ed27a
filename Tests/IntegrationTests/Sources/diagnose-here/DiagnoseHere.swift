internal import FoundationEssentials
internal import Glibc
internal import NetKit

/// Diagnoses the route to a URL in the network namespace of this process.
///
///     diagnose-here URL
///     diagnose-here --stream URL
///     diagnose-here passive://[ADDRESS]
///     diagnose-here --passive URL
///     diagnose-here --passive-stream URL [COMMAND]
///
/// The third and the fourth form print the status that the kernel knows without a packet. The fifth opens a stream to the host of the
/// URL and runs a command of the shell; it prints the status before the stream and that with the stream. The second loads the URL
/// with a stream, which fails, and diagnoses the failed stream. The first two print the code of the cause, or `fine`, and then the codes of the remarks. The
/// limits are short, because on a single machine a server that has not answered after a second never will. This is a program
/// because a process is in only one network namespace.
@main struct DiagnoseHere {
    static func main() async throws {
        if CommandLine.arguments.dropFirst().first?.hasPrefix("--passive") == true {
            return try await passiveStatus(Array(CommandLine.arguments.dropFirst()))
        }
        let words = CommandLine.arguments.dropFirst().filter { $0 != "--stream" }
        guard words.count == 1, let url = URL(string: words[0]) else {
            print("usage: diagnose-here [--stream] URL")
            exit(2)
        }
        if url.scheme == "passive" {
            let address = url.host(percentEncoded: false).flatMap { IPAddress($0) }
            print(PassiveStatus.current(to: [address].compactMap(\.self)).status)
            return
        }
        var options = NetDiagnostic.Options()
        options.connectionTimeout = .seconds(4)
        options.responseTimeout = .seconds(4)
        let diagnostic =
            CommandLine.arguments.contains("--stream")
            ? try await failed(url, options) : try NetDiagnostic(url: url, options: options)
        let diagnosis = await diagnostic.diagnose()
        let remarks = diagnosis.remarks.filter { $0.severity == .warning }.map(\.code.rawValue)
        print(([diagnosis.cause?.code.rawValue ?? "fine"] + remarks).joined(separator: " "))
        print(diagnosis)
        for finding in [diagnosis.cause].compactMap(\.self) + diagnosis.consequences + diagnosis.remarks {
            print(finding.code.rawValue, finding.severity, finding.evidence)
        }
        for family in diagnosis.families { print(family) }
        for sentence in diagnosis.uncheckable { print("not looked at:", sentence) }
    }

    private static func passiveStatus(_ words: [String]) async throws {
        guard words.count >= 2, let url = URL(string: words[1]) else { exit(2) }
        print(try NetDiagnostic(url: url).passiveStatus().status)
        guard words[0] == "--passive-stream", let host = url.host(percentEncoded: false) else { return }
        let stream = StreamPair(host: host, port: UInt16(url.port ?? 80))
        defer { stream.close() }
        try stream.set(.openTimeout, to: .seconds(10))
        do throws(StreamError) {
            try stream.open()
            try await stream.output.opened()
        } catch {
            // The stream keeps the error.
        }
        if words.count > 2, system(words[2]) != 0 { exit(1) }
        let status = NetDiagnostic(read: stream.input, write: stream.output).passiveStatus()
        print(status.status, stream.input.error.map { "\($0.domain.rawValue) \($0.code)" } ?? "connected")
    }

    /// A diagnosis of a stream that was loaded without one and has failed.
    private static func failed(_ url: URL, _ options: NetDiagnostic.Options) async throws -> NetDiagnostic {
        let stream = try ReadStream(httpURL: url)
        try stream.set(.http(\.proxySettings), to: try ProxySettings.environment())
        try stream.set(.openTimeout, to: .seconds(4))
        try stream.set(.readTimeout, to: .seconds(4))
        do throws(StreamError) {
            try stream.open()
            _ = try await stream.readAll(limit: 1 << 20)
        } catch {
            // The stream keeps the error.
        }
        stream.close()
        return try NetDiagnostic(load: stream, of: url, options: options)
    }
}
