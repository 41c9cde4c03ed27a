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
              netkit get --report=html page.html --har page.har https://www.example.org/
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

    @Flag(
        name: [.customShort("O"), .long],
        help: "Write the body to a file with the last name in the URL, in the current folder.")
    var remoteName = false

    @Flag(name: [.customShort("i"), .long], help: "Print the response head before the body.")
    var include = false

    @Flag(name: [.customShort("s"), .long], help: "Show no progress; failures are still reported.")
    var silent = false

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

    @Option(help: ArgumentHelp("Give up if no connection is made in SECONDS. Default: 75.", valueName: "SECONDS"))
    var connectTimeout: Double?

    @Option(
        name: [.customShort("b"), .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send cookies: NAME=VALUE pairs for the URL's host, separated by ;, or those of a FILE in Netscape's format.",
            valueName: "DATA|FILE"))
    var cookie: [String] = []

    @Option(
        name: [.customShort("c"), .long],
        help: ArgumentHelp(
            "Write all cookies to FILE in Netscape's format after the transfer.", valueName: "FILE"))
    var cookieJar: String?

    @Option(
        help: ArgumentHelp(
            "Send the request again up to NUMBER times after temporary failures (GET, HEAD, PUT, DELETE).",
            valueName: "NUMBER"))
    var retry: Int?

    @Flag(help: "Print one JSON object on standard output; the body is written only with -o.")
    var json = false

    @Flag(help: "Print every step with its time on standard error.")
    var report = false

    @Option(
        help: ArgumentHelp(
            "Write the steps to FILE as a page for a browser; also spelled --report=html FILE.", valueName: "FILE"))
    var reportHtml: String?

    @Option(
        help: ArgumentHelp(
            "Write the requests and responses to FILE as an HTTP archive (HAR 1.2), without bodies and secrets.",
            valueName: "FILE"))
    var har: String?

    mutating func validate() throws {
        if remoteName {
            if output != nil || recursive { throw ValidationError("-O cannot be combined with -o or -r.") }
            output = try URLArgument.fileName(of: url)
        }
        if include, json { throw ValidationError("-i cannot be combined with --json, which has the response head.") }
        if recursive, !FTPOptions.isFTP(url) { throw ValidationError("-r requires an ftp or ftps URL.") }
        if resume, output == nil, !recursive {
            throw ValidationError("--resume requires -o FILE, the partial file.")
        }
        try TimeLimit.check(timeout)
        try TimeLimit.check(connectTimeout, of: "--connect-timeout")
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
        if recursive, silent { throw ValidationError("-s cannot be combined with -r.") }
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
            ("--head", head), ("--compressed", compressed), ("--retry", retry != nil), ("-i", include),
            ("--connect-timeout", connectTimeout != nil),
            ("-b", !cookie.isEmpty), ("-c", cookieJar != nil), ("--har", har != nil),
            ("--report=html", reportHtml != nil),
        ].filter(\.1).map(\.0) + login.httpOptions
    }

    func run() async throws {
        if FTPOptions.isFTP(url) { return try await runFTP() }
        let prompt = login.prompt()
        let load: Load
        let jar: CookieJar
        do {
            jar = try CookieJar(cookie, for: try address(), writing: cookieJar)
            load = try makeLoad(prompt, jar.cookies)
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
        let course = outcome.report(of: load.tried)
        if report { for line in Waterfall.lines(course, .errors) { Terminal.say(line) } }
        if json { Terminal.print(outcome.json(url: url, report: course)) }
        let saved = Result {
            try jar.save()
            if let har { try OutputFile.write(HTTPArchive.json(course) + "\n", to: har) }
            if let reportHtml { try OutputFile.write(ReportPage.page(course, url: url).text, to: reportHtml) }
        }
        do {
            try outcome.result.get()
            try saved.get()
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

    private func makeLoad(_ prompt: LoginPrompt, _ cookies: HTTPCookies) throws -> Load {
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
        let tried = LoadCourse()
        return Load(
            open: try opening(request, try body(), prompt, cookies, tried), tried: tried, url: address, path: file,
            offset: offset,
            isHead: request.method == .head, printsHead: (head || include) && !json,
            discardsBody: json && file == nil,
            showsProgress: !silent && Terminal.isInteractive && (file != nil || !Terminal.showsOutput))
    }

    private func address() throws -> URL {
        guard let address = URL(string: url).map(login.url(for:)), address.scheme != nil else {
            throw ValidationError(URLArgument.invalid(url))
        }
        try URLArgument.checkEscapes(url)
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
        _ request: HTTPRequest, _ body: HTTPBody?, _ prompt: LoginPrompt, _ cookies: HTTPCookies,
        _ tried: LoadCourse
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
        if let connectTimeout {
            configuration.properties[.openLimit] = .seconds(min(connectTimeout, timeout ?? connectTimeout))
        }
        configuration.cookies = .shared(cookies)
        if let retry { configuration.retries = RetryPolicy(limit: retry) }
        configuration.onRequest = { tried.add($0) }
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
        let isShown = !silent && Terminal.isInteractive && (output != nil || !Terminal.showsOutput)
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
        return try await progress.track { try await client.download(path, to: folder, progress.options) }
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

    /// The last name in a URL, for the file of `-O`; an escape in it cannot lead to another folder.
    static func fileName(of text: String) throws -> String {
        let path = URL(string: text)?.path(percentEncoded: true) ?? ""
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last?.removingPercentEncoding ?? ""
        let isSafe =
            !name.hasPrefix(".")
            && !name.unicodeScalars.contains { $0 == "/" || $0.properties.generalCategory == .control }
        guard !name.isEmpty, isSafe else {
            throw ValidationError("'\(Terminal.shownURL(text))' has no safe file name; use -o FILE.")
        }
        return name == "-" ? "./-" : name
    }

    /// Throws if a percent sign begins no escape (RFC 3986 §2.1), or if only a part of the URL is escaped. Foundation would
    /// silently turn each percent sign into `%25`.
    static func checkEscapes(_ text: String) throws {
        // The zone of an IPv6 address has a percent sign of its own.
        let rest = text.replacing(/\/\/[^\/]*\]/, with: "//h")
        guard rest.contains("%") else { return }
        let shown = Terminal.shownURL(text)
        let bytes = Array(rest.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            let digits = bytes[(index + 1)...].prefix(2)
            if digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) { continue }
            let escape = Terminal.shown(String(decoding: [UInt8(ascii: "%")] + digits, as: UTF8.self))
            throw ValidationError("'\(shown)' is not a URL: \(escape) is no escape; write a percent sign as %25.")
        }
        if URL(string: rest, encodingInvalidCharacters: false) == nil {
            throw ValidationError("'\(shown)' is not a URL: only a part of it is escaped; write a space as %20.")
        }
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
