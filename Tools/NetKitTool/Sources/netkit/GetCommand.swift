import ArgumentParser
import Foundation
import NetKit

/// `netkit get`: sends a request and writes the body of the answer.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetches what a URL leads to.",
        discussion: """
            Examples:
              netkit get https://www.example.org/
              netkit get -o film.mkv --resume https://www.example.org/film.mkv
              netkit get -X PUT -d @notes.txt http://localhost/notes.txt
              netkit get -H 'Accept: text/plain' https://www.example.org/
              netkit get --report --head https://www.example.org/
              netkit get -u joe https://www.example.org/private/
              netkit get -x http://proxy:3128 --proxy-user joe http://example.org/
              netkit get --tls required ftp://ftp.example.org/notes.txt
              netkit get -r --resume -o photos ftp://ann@ftp.example.org/photos/
              netkit get -x socks5h://localhost:9050 -x http://inner:3128 \\
                https://www.example.org/

            The body goes to standard output, or to FILE with -o. Progress is shown on a terminal, unless the body goes \
            there, too. What failed, at which step and why is said in one sentence; --report tells every step.
            """
    )

    @Argument(help: "An http, https, ftp or ftps URL.")
    var url: String

    @Option(name: [.customShort("o"), .long], help: ArgumentHelp("Write the body to FILE.", valueName: "FILE"))
    var output: String?

    @Option(
        name: [.customShort("X"), .customLong("method")],
        help: ArgumentHelp("The method; GET, or POST with -d.", valueName: "METHOD"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A field of the request; repeatable. 'Name:' alone sends it empty.", valueName: "NAME: VALUE"))
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")], parsing: .unconditional,
        help: ArgumentHelp("The body of the request: text, or @FILE for a file's bytes.", valueName: "DATA"))
    var data: String?

    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects, at most 20.")
    var followsRedirects = false

    @Flag(help: "Ask for the head only, and print it.")
    var head = false

    @Flag(help: "Ask for gzip or deflate, and write the decoded body.")
    var compressed = false

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    @OptionGroup(title: "FTP") var ftp: FTPOptions

    @Flag(name: [.customShort("r"), .long], help: "FTP: fetch a whole tree into the folder of -o, or one of its name.")
    var recursive = false

    @Flag(help: "Go on where FILE of -o ends; with -r, where each file does.")
    var resume = false

    @Option(help: ArgumentHelp("Give up after so many seconds in all.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print one JSON object about the load on standard output; the body goes to FILE of -o, or nowhere.")
    var json = false

    @Flag(help: "Print every step with its time on standard error.")
    var report = false

    func validate() throws {
        if recursive, !FTPOptions.takes(url) { throw ValidationError("-r is for URLs that begin with ftp or ftps.") }
        if resume, output == nil, !recursive {
            throw ValidationError("--resume needs -o FILE, whose end it goes on from.")
        }
        if let timeout, !(timeout > 0) { throw ValidationError("--timeout is a number of seconds above 0.") }
        if head, data != nil { throw ValidationError("--head sends no body, so -d makes no sense with it.") }
        let address = try address()
        if FTPOptions.takes(url), !optionsOfHTTP.isEmpty {
            throw ValidationError(
                "\(optionsOfHTTP.joined(separator: ", ")): only for http and https URLs, not for \(address.scheme ?? "")."
            )
        }
        if recursive, report { throw ValidationError("--report shows one transfer, not those of -r.") }
        if !FTPOptions.takes(url), ftp.tls != nil || ftp.active != nil {
            throw ValidationError("--tls and --active are for URLs that begin with ftp or ftps.")
        }
        if address.scheme?.lowercased() == "http", !followsRedirects {
            try connection.requireNoTLS("write https://, or add -L if the server redirects there")
        }
        _ = try verb()
        for header in headers { _ = try field(header) }
    }

    /// The options given that have a meaning only with HTTP.
    private var optionsOfHTTP: [String] {
        [
            ("-X", method != nil), ("-H", !headers.isEmpty), ("-d", data != nil), ("-L", followsRedirects),
            ("--head", head), ("--compressed", compressed),
        ].filter(\.1).map(\.0) + login.optionsOfHTTP
    }

    func run() async throws {
        if FTPOptions.takes(url) { return try await runFTP() }
        let load: Load
        do {
            load = try makeLoad()
        } catch let error as StreamError {
            try fail(error.description, ExitStatus(error, after: nil))
        } catch let error as HTTPAuthError {
            try fail(Terminal.sentence(error), .localFile)
        } catch let error as HTTPMessageError {
            try fail("The request cannot be sent: \(error).", .badURL)
        } catch let error as OutputFile.Failure {
            try fail(error.description, .localFile)
        }
        let outcome = await withNetworkExecutor { await load.run() }
        if report, let stream = outcome.stream ?? load.tried.stream {
            Terminal.say(ShownText(lines: stream.report.description))
        }
        if json { Terminal.print(outcome.json(url: url, report: load.tried.stream?.report)) }
        switch outcome.result {
        case .success where outcome.status >= 400:
            try fail("The server answered: \(Terminal.shown(outcome.response?.statusLine ?? "")).", .serverError)
        case .success: return
        case .failure(.stream(let error)): try fail(error.description, ExitStatus(error, after: outcome.response))
        case .failure(.file(let failure)): try fail(failure.description, .localFile)
        }
    }

    private func fail(_ sentence: String, _ status: ExitStatus) throws -> Never {
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }

    // MARK: From the command line to a load

    private func makeLoad() throws -> Load {
        let address = try address()
        if let scheme = address.scheme?.lowercased(), !["http", "https"].contains(scheme) {
            try fail("\(scheme):// is nothing that can be fetched; http, https, ftp and ftps are.", .badURL)
        }
        _ = try HTTPOrigin(address)
        var request = try HTTPRequest(method: verb(), url: address)
        for header in headers {
            let (name, value) = try field(header)
            try request.fields.append(value, for: name)
        }
        var offset: Int64 = 0
        if resume, let output {
            offset = OutputFile.size(of: output)
            if offset > 0 { try request.fields.set("bytes=\(offset)-", for: .range) }
        }
        let tried = LastStream()
        return Load(
            open: try opening(request, try body(&request), tried), tried: tried, path: output, offset: offset,
            printsHead: head && !json,
            discardsBody: json && output == nil,
            showsProgress: Terminal.isInteractive && (output != nil || !Terminal.showsOutput))
    }

    private func address() throws -> URL {
        guard let address = URL(string: url).map(login.url(for:)), address.scheme != nil else {
            throw ValidationError(
                "'\(Terminal.shownURL(url))' is no URL; it begins with http://, https://, ftp:// or ftps://.")
        }
        return address
    }

    private func verb() throws -> HTTPMethod {
        let name = method ?? (head ? "HEAD" : data == nil ? "GET" : "POST")
        guard let verb = HTTPMethod(name) else { throw ValidationError("-X '\(name)' is no method.") }
        return verb
    }

    /// Name and value of one -H.
    private func field(_ header: String) throws -> (HTTPFieldName, String) {
        let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValidationError("-H '\(header)' has no colon; write 'Name: value'.") }
        guard let name = HTTPFieldName(String(parts[0])) else {
            throw ValidationError("-H '\(header)': '\(parts[0])' is no name of a field.")
        }
        return (name, parts[1].trimmingCharacters(in: .whitespaces))
    }

    /// A session: it sends no password that it was not told, but may have to, to server or proxy.
    private func opening(
        _ request: HTTPRequest, _ body: HTTPBody?, _ tried: LastStream
    ) throws -> @Sendable () async throws(StreamError) -> ReadStream {
        let tls = try connection.tls()
        let settings = try connection.settings()
        let prepare = { @Sendable [compressed, timeout] (stream: ReadStream) throws(StreamError) in
            tried.set(stream)
            try stream.set(.httpDecodesContent, to: compressed)
            if let timeout {
                try stream.set(.httpTotalLimit, to: .seconds(timeout))
                try stream.set(.openLimit, to: .seconds(timeout))
            }
            if let tls { try stream.set(.tls, to: tls) }
            try stream.set(.httpProxySettings, to: settings)
        }
        var configuration = try login.configuration()
        configuration.followsRedirects = followsRedirects
        configuration.prepare = prepare
        let session = HTTPSession(configuration)
        return { () async throws(StreamError) in try await session.open(request, body: body) }
    }

    private func body(_ request: inout HTTPRequest) throws -> HTTPBody? {
        guard let data else { return nil }
        guard data.hasPrefix("@") else { return .bytes(Array(data.utf8)) }
        let path = String(data.dropFirst())
        if let failure = OutputFile.Failure(reading: path) { throw failure }
        return .stream(length: OutputFile.size(of: path)) { ReadStream(path: path) }
    }
}

extension GetCommand {
    /// Fetches a file by FTP, a listing as it comes, or a whole tree.
    private func runFTP() async throws {
        guard let address = URL(string: url) else { throw ValidationError("'\(Terminal.shownURL(url))' is no URL.") }
        let facts: JSONOutput.Facts? = json ? ["url": JSONOutput.url(url)] : nil
        let (client, path): (FTPClient, FTPPath)
        do {
            (client, path) = try await ftp.client(
                address, user: login.user, netrc: login.netrc, connection: connection, timeout: timeout)
        } catch {
            try FTPTarget.end(error, facts)
        }
        try await FTPTarget.run(facts) {
            if recursive { return try await fetchTree(client, path, address) }
            return try await fetchFile(client, path, isDirectory: address.path().hasSuffix("/"))
        }
    }

    private func fetchFile(
        _ client: FTPClient, _ path: FTPPath, isDirectory: Bool
    ) async throws -> JSONOutput.Facts {
        try client.set(.ftpFetchesResourceInfo, to: true)
        let offset = resume ? output.map(OutputFile.size(of:)) ?? 0 : 0
        let stream =
            isDirectory || path.bytes.isEmpty ? client.lister(path) : client.reader(path, offset: UInt64(offset))
        defer {
            if report { Terminal.say(ShownText(lines: stream.report.description)) }
            stream.close()
        }
        try stream.open()
        try await stream.opened()
        let file = if let output { try OutputFile(path: output, keeping: offset) } else { OutputFile() }
        let discardsBody = json && output == nil
        let isShown = Terminal.isInteractive && (output != nil || !Terminal.showsOutput)
        var progress =
            isShown ? ProgressBar(total: stream[.ftpResourceSize].map(Int64.init(clamping:)), offset: offset) : nil
        var count = offset
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while true {
            let moved = try await stream.read(into: &buffer)
            if moved == 0 { break }
            if !discardsBody { try file.write(buffer.span.bytes.extracting(..<moved)) }
            count += Int64(moved)
            progress?.show(count)
        }
        progress?.finish(count)
        return ["bytes": count - offset, "offset": offset, "steps": JSONOutput.steps(stream.report)]
    }

    private func fetchTree(
        _ client: FTPClient, _ path: FTPPath, _ address: URL
    ) async throws -> JSONOutput.Facts {
        let name = path.bytes.split(separator: UInt8(ascii: "/")).last.map { ListingEntry(nameBytes: Array($0)) }
        // The name comes from the command line, but `%2e%2e` is not seen at once.
        let folder = output ?? (name.map { $0.pathComponent == nil ? nil : $0.name } ?? address.host())
        guard let folder else {
            throw ValidationError("'\(Terminal.shownURL(url))' names no folder here; write -o FOLDER.")
        }
        let progress = TreeProgress(resumes: resume)
        return try progress.finish(try await client.download(path, to: folder, progress.options))
    }
}
