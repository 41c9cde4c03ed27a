import ArgumentParser
import Foundation
import NetKit

/// `netkit get`: sends a request and writes the body of the response.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Downloads a URL to standard output or a file.",
        discussion: """
            Examples:
              netkit get https://www.example.org/
              netkit get -o film.mkv --resume https://www.example.org/film.mkv
              netkit get -X PUT -d @notes.txt http://localhost/notes.txt
              tar c photos | netkit get -X PUT -d @- http://localhost/photos.tar
              netkit get -H 'Accept: text/plain' https://www.example.org/
              netkit get --report --head https://www.example.org/
              netkit get -u joe https://www.example.org/private/
              netkit get -x http://proxy:3128 --proxy-user joe http://example.org/
              netkit get --tls required ftp://ftp.example.org/notes.txt
              netkit get -r --resume -o photos ftp://ann@ftp.example.org/photos/
              netkit get -x socks5h://localhost:9050 -x http://inner:3128 \\
                https://www.example.org/

            The body goes to standard output, or to FILE with -o: it is written to FILE.part first, which is renamed at the end \
            and kept after a failure for --resume. With -o, the body of an error response is not written. Progress is shown on a terminal unless the body is \
            written there. A failure is reported in one sentence; --report prints every step.
            """
    )

    @Argument(help: "An http, https, ftp or ftps URL.")
    var url: String

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write the body to FILE; - is standard output.", valueName: "FILE"))
    var output: String?

    @Option(
        name: [.customShort("X"), .customLong("method")],
        help: ArgumentHelp("The request method. Default: GET, or POST with -d.", valueName: "METHOD"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Add a request header; repeatable. 'Name:' sends an empty value.", valueName: "NAME: VALUE"))
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            The request body: text, @FILE for a file, or @- for standard input. Several texts are joined with &. Sent as \
            application/x-www-form-urlencoded unless -H sets a Content-Type.
            """, valueName: "DATA"))
    var data: [String] = []

    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects, up to 20.")
    var followsRedirects = false

    @Flag(help: "Send a HEAD request and print the response head.")
    var head = false

    @Flag(help: "Request gzip or deflate, and write the decoded body.")
    var compressed = false

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    @OptionGroup(title: "FTP") var ftp: FTPOptions

    @Flag(
        name: [.customShort("r"), .long],
        help: "FTP: download a directory tree into the folder of -o, or into one of its name.")
    var recursive = false

    @Flag(help: "Continue the partial FILE of -o; with -r, each partial file.")
    var resume = false

    @Option(help: ArgumentHelp("Give up after SECONDS in total.", valueName: "SECONDS"))
    var timeout: Double?

    @Option(
        help: ArgumentHelp(
            "Send the request again up to NUMBER times after temporary failures (GET, HEAD, PUT, DELETE).",
            valueName: "NUMBER"))
    var retry: Int?

    @Flag(help: "Print one JSON object on standard output; the body is written only with -o.")
    var json = false

    @Flag(help: "Print every step with its time on standard error.")
    var report = false

    func validate() throws {
        if recursive, !FTPOptions.isFTP(url) { throw ValidationError("-r requires an ftp or ftps URL.") }
        if resume, output == nil, !recursive {
            throw ValidationError("--resume requires -o FILE, the partial file.")
        }
        try TimeLimit.check(timeout)
        if let retry, !(0...1000).contains(retry) { throw ValidationError("--retry must be a number from 0 to 1000.") }
        if data.count > 1, data.contains(where: { $0.hasPrefix("@") }) {
            throw ValidationError("-d @FILE cannot be combined with another -d.")
        }
        if resume, output == "-" { throw ValidationError("--resume requires -o FILE, the partial file.") }
        if head, !data.isEmpty { throw ValidationError("--head sends no body and cannot be combined with -d.") }
        let address = try address()
        if FTPOptions.isFTP(url), !httpOptions.isEmpty {
            throw ValidationError(
                "\(httpOptions.joined(separator: ", ")): not supported for \(address.scheme ?? "") URLs, only for http "
                    + "and https.")
        }
        if recursive, report { throw ValidationError("--report cannot be combined with -r.") }
        if !FTPOptions.isFTP(url), ftp.tls != nil || ftp.active != nil {
            throw ValidationError("--tls and --active require an ftp or ftps URL.")
        }
        if address.scheme?.lowercased() == "http", !followsRedirects {
            try connection.requireNoTLS("use https://, or add -L if the server redirects to it")
        }
        _ = try verb()
        for header in headers { _ = try field(header) }
    }

    /// The given options that apply only to HTTP.
    private var httpOptions: [String] {
        [
            ("-X", method != nil), ("-H", !headers.isEmpty), ("-d", !data.isEmpty), ("-L", followsRedirects),
            ("--head", head), ("--compressed", compressed), ("--retry", retry != nil),
        ].filter(\.1).map(\.0) + login.httpOptions
    }

    func run() async throws {
        if FTPOptions.isFTP(url) { return try await runFTP() }
        let prompt = login.prompt()
        let load: Load
        do {
            load = try makeLoad(prompt)
        } catch {
            guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
            try fail(sentence, status)
        }
        let outcome = await withNetworkExecutor { [connection] in
            var outcome = await load.run()
            if case .failure(let error as StreamError) = outcome.result, outcome.response == nil,
                let stream = outcome.stream ?? load.tried.stream, let url = stream[.httpFinalURL] ?? load.url,
                let settings = try? connection.settings()
            {
                outcome.result = .failure(await ProxyFault.attributed(error, stream.report, to: url, settings))
            }
            return outcome
        }
        if report, let stream = outcome.stream ?? load.tried.stream {
            Terminal.say(ShownText(lines: stream.report.description))
        }
        if json { Terminal.print(outcome.json(url: url, report: load.tried.stream?.report)) }
        do {
            try outcome.result.get()
        } catch {
            guard let (sentence, status) = ExitStatus.describe(error, after: outcome.response) else { throw error }
            try fail(sentence, status)
        }
        if let response = outcome.response, response.status.code >= 400 {
            let isProxys = response.status == .proxyAuthenticationRequired
            try fail(
                login.refusal(response, prompt)
                    ?? "The \(isProxys ? "proxy" : "server") responded: \(response.statusLine).",
                isProxys ? .proxyRefused : .serverError)
        }
    }

    private func fail(_ sentence: String, _ status: ExitStatus) throws -> Never {
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }

    // MARK: From the command line to a load

    private func makeLoad(_ prompt: LoginPrompt) throws -> Load {
        let address = try address()
        if let scheme = address.scheme?.lowercased(), !["http", "https"].contains(scheme) {
            throw URLArgument.unsupported(url, scheme, use: "http, https, ftp or ftps")
        }
        _ = try HTTPOrigin(address)
        var request = try HTTPRequest(method: verb(), url: address)
        for header in headers {
            let (name, value) = try field(header)
            try request.fields.append(value, for: name)
        }
        let file = output == "-" ? nil : output
        let offset = resume ? file.map(OutputFile.partialSize(of:)) ?? 0 : 0
        if offset > 0 { try request.fields.set("bytes=\(offset)-", for: .range) }
        if !data.isEmpty, !request.fields.contains(.contentType) {
            try request.fields.set("application/x-www-form-urlencoded", for: .contentType)
        }
        let tried = LastStream()
        return Load(
            open: try opening(request, try body(), prompt, tried), tried: tried, url: address, path: file,
            offset: offset,
            isHead: request.method == .head, printsHead: head && !json,
            discardsBody: json && file == nil,
            showsProgress: Terminal.isInteractive && (file != nil || !Terminal.showsOutput))
    }

    private func address() throws -> URL {
        guard let address = URL(string: url).map(login.url(for:)), address.scheme != nil else {
            throw ValidationError(URLArgument.invalid(url))
        }
        return address
    }

    private func verb() throws -> HTTPMethod {
        let name = method ?? (head ? "HEAD" : data.isEmpty ? "GET" : "POST")
        guard let verb = HTTPMethod(name) else { throw ValidationError("-X '\(name)' is not a method.") }
        return verb
    }

    /// The name and value of one `-H`.
    private func field(_ header: String) throws -> (HTTPFieldName, String) {
        let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValidationError("-H '\(header)' has no colon; use 'Name: value'.") }
        guard let name = HTTPFieldName(String(parts[0])) else {
            throw ValidationError("-H '\(header)': '\(parts[0])' is not a header name.")
        }
        if [.host, .contentLength, .transferEncoding, .connection].contains(name) {
            throw ValidationError("-H '\(header)': netkit determines \(name.canonicalName) itself.")
        }
        return (name, parts[1].trimmingCharacters(in: .whitespaces))
    }

    /// Opens the request in a session, which logs in to servers and proxies with the logins of the command line only.
    private func opening(
        _ request: HTTPRequest, _ body: HTTPBody?, _ prompt: LoginPrompt, _ tried: LastStream
    ) throws -> @Sendable () async throws(StreamError) -> ReadStream {
        // For an http URL TLS is set up only where a redirect may lead to https; --cacert is for proxies, too.
        let mayUseTLS = followsRedirects || request.url?.scheme?.lowercased() == "https"
        var configuration = try login.configuration(prompt)
        configuration.followsRedirects = followsRedirects
        configuration.decodesContent = compressed
        if mayUseTLS, let tls = try connection.tls() { configuration.tls = tls }
        configuration.proxies = .settings(try connection.settings())
        if let timeout {
            configuration.totalLimit = .seconds(timeout)
            configuration.properties[.openLimit] = .seconds(timeout)
        }
        if let retry { configuration.retries = RetryPolicy(limit: retry) }
        configuration.onRequest = { tried.set($0) }
        let session = HTTPSession(configuration)
        return { () async throws(StreamError) in try await session.open(request, body: body) }
    }

    private func body() throws -> HTTPBody? {
        guard let first = data.first else { return nil }
        if first.hasPrefix("@") { return try UploadSource(String(first.dropFirst())).body }
        return .bytes(Array(data.joined(separator: "&").utf8))
    }
}

extension GetCommand {
    /// Downloads a file, the raw listing of a directory, or a directory tree by FTP.
    private func runFTP() async throws {
        guard let address = URL(string: url) else { throw ValidationError(URLArgument.invalid(url)) }
        let facts: JSONOutput.Facts? = json ? ["url": JSONOutput.url(url)] : nil
        let (client, path): (FTPClient, FTPPath)
        let settings: ProxySettings
        do {
            (client, path) = try ftp.client(address, user: login.user, netrc: login.netrc, connection: connection)
            settings = try connection.settings()
        } catch {
            try FTPTarget.end(error, facts)
        }
        try await FTPTarget.run(facts, within: timeout) {
            try await client.apply(settings, for: address)
            if recursive { return try await fetchTree(client, path, address) }
            return try await fetchFile(client, path, isDirectory: address.path().hasSuffix("/"))
        }
    }

    private func fetchFile(
        _ client: FTPClient, _ path: FTPPath, isDirectory: Bool
    ) async throws -> JSONOutput.Facts {
        try client.set(.ftpFetchesResourceInfo, to: true)
        let output = output == "-" ? nil : output
        let isDirectory = isDirectory || path.bytes.isEmpty
        // A listing has no parts.
        let offset = resume && !isDirectory ? output.map(OutputFile.partialSize(of:)) ?? 0 : 0
        let stream = isDirectory ? client.lister(path) : client.reader(path, offset: UInt64(offset))
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
        try file.finish()
        return ["bytes": count - offset, "offset": offset, "steps": JSONOutput.steps(stream.report)]
    }

    private func fetchTree(
        _ client: FTPClient, _ path: FTPPath, _ address: URL
    ) async throws -> JSONOutput.Facts {
        let name = path.bytes.split(separator: UInt8(ascii: "/")).last.map { ListingEntry(nameBytes: Array($0)) }
        // The name comes from the command line, but may hide `..` as `%2e%2e`.
        let folder = output ?? (name.map { $0.pathComponent == nil ? nil : $0.name } ?? address.host())
        guard let folder else {
            throw ValidationError("'\(Terminal.shownURL(url))' has no valid folder name; use -o FOLDER.")
        }
        let progress = TreeProgress(resumes: resume)
        return try progress.finish(try await client.download(path, to: folder, progress.options))
    }
}

/// Messages about a wrong URL on the command line. A password in it is not repeated.
enum URLArgument {
    /// The text is not a URL.
    static func invalid(_ text: String) -> String {
        let guess = "http://\(text)"
        let isHost = !text.contains("@") && !text.contains("//") && URL(string: guess)?.host()?.isEmpty == false
        return "'\(Terminal.shownURL(text))' is not a URL.\(isHost ? " Did you mean \(guess)?" : "")"
    }

    /// The URL has another scheme than those that the verb supports; `HOST:PORT` is read as scheme and path.
    static func unsupported(_ text: String, _ scheme: String, use schemes: String) -> StreamError {
        let rest = text.dropFirst(scheme.count + 1)
        let isPort = !text.contains("@") && rest.first?.isWholeNumber == true
        let advice = isPort ? "Did you mean http://\(Terminal.shown(text))?" : "Use \(schemes)."
        return StreamError(
            domain: .http, code: HTTPErrorNumber.badURL.rawValue,
            sentence: Sentence("tool.scheme", "Unsupported scheme \"%1\". %2", scheme, advice))
    }
}
