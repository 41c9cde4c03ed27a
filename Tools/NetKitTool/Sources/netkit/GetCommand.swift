import ArgumentParser
import Foundation
import NetKit

/// `netkit get`: sends a request for each URL and writes the bodies of the responses.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Downloads URLs to standard output or files, uploads, and sends any HTTP request.",
        discussion: """
            Examples:
              netkit get https://www.example.org/
              netkit get -o film.mkv --resume https://www.example.org/film.mkv
              netkit get -Z -O https://www.example.org/a.iso https://www.example.org/b.iso
              netkit get -T notes.txt http://localhost/
              tar c photos | netkit get -T - http://localhost/photos.tar
              netkit get -F title=Sunset -F photo=@sunset.jpg http://localhost/photos
              netkit get --json-body '{"name":"ann"}' http://localhost/users
              netkit get -H 'Accept: text/plain' https://www.example.org/
              netkit get --report --head https://www.example.org/
              netkit get --report=html page.html --har page.har https://www.example.org/
              netkit get -u joe https://www.example.org/private/
              netkit get -x http://proxy:3128 --proxy-user joe http://example.org/
              netkit get --unix-socket /run/service.sock http://localhost/status
              netkit get --tls required ftp://ftp.example.org/notes.txt
              netkit get -r --newer -o photos ftp://ann@ftp.example.org/photos/
              netkit get -O 'ftp://ftp.example.org/pub/*.txt'
              netkit get -x socks5h://localhost:9050 -x http://inner:3128 \\
                https://www.example.org/

            The body goes to standard output, or to FILE with -o: it is written to FILE.part first, which is renamed at the end \
            and kept after a failure for --resume. With -o, the body of an error response is not written. Progress is shown on a \
            terminal unless the body is written there. A failure is reported in one sentence; --report prints every step.

            With -r, files keep their dates. In an FTP URL, * and ? are wildcards: what matches is saved under its own name, in \
            the current folder with -O, or in the folder of -o.

            Several URLs are loaded in their order over shared connections, with the same options. The exit code is that of the \
            first failure.
            """
    )

    @Argument(help: "http, https, ftp or ftps URLs.")
    var urls: [String]

    @OptionGroup(title: "Request") var request: RequestOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    @OptionGroup(title: "Limits") var limits: LimitOptions

    @OptionGroup(title: "Route") var endpoint: EndpointOptions

    @OptionGroup(title: "Proxies and TLS") var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    @OptionGroup(title: "FTP") var ftp: FTPOptions

    @Flag(
        name: [.customShort("r"), .long],
        help: "FTP: download a directory tree into the folder of -o, or into one of its name.")
    var recursive = false

    @Flag(help: "Continue the partial FILE of -o or -O; with -r, each partial file.")
    var resume = false

    @OptionGroup(title: "FTP") var tree: FTPTreeFlags

    @Flag(name: [.customShort("Z"), .long], help: "Load several URLs at the same time.")
    var parallel = false

    @Option(help: ArgumentHelp("The number of loads at the same time with -Z. Default: 6.", valueName: "NUMBER"))
    var parallelMax: Int?

    func validate() throws {
        if recursive {
            if urls.contains(where: { !FTPOptions.isFTP($0) }) {
                throw ValidationError(
                    "-r downloads a directory tree, from an ftp or ftps URL. For a part of a file, use -H 'Range: bytes=0-9'."
                )
            }
            if urls.count > 1 { throw ValidationError("-r takes one URL.") }
            if output.remoteName, FTPWildcards.pattern(of: urls[0]) == nil {
                throw ValidationError("-O cannot be combined with -r.")
            }
            if output.silent { throw ValidationError("-s cannot be combined with -r.") }
            if output.report { throw ValidationError("--report cannot be combined with -r.") }
        }
        if !recursive { try tree.requireNone() }
        if urls.contains(where: { FTPWildcards.pattern(of: $0) != nil }) {
            guard urls.count == 1 else { throw ValidationError("A URL with wildcards must be the only one.") }
            guard output.remoteName || FTPWildcards.isFolder(output.files.first) else {
                throw ValidationError("A URL with wildcards requires -O, or -o with a folder that exists.")
            }
        }
        let destinations = try output.destinations(of: urls)
        if resume, !recursive {
            if destinations.contains(where: { $0.path == nil }) {
                throw ValidationError("--resume requires -o FILE, the partial file.")
            }
            if output.noClobber || output.remoteHeaderName {
                throw ValidationError("--resume cannot be combined with --no-clobber or -J.")
            }
        }
        if limits.pace.limitRate != nil, !request.form.isEmpty {
            throw ValidationError("--limit-rate cannot be combined with -F.")
        }
        if let parallelMax {
            if !(1...64).contains(parallelMax) {
                throw ValidationError("--parallel-max must be a number from 1 to 64.")
            }
            if !parallel { throw ValidationError("--parallel-max requires -Z.") }
        }
        if urls.count > 1 {
            if request.readsStandardInput { throw ValidationError("Standard input can be sent to one URL only.") }
            if output.har != nil || output.reportHtml != nil {
                throw ValidationError("--har and --report=html take one URL.")
            }
        }
        try validateOmittedFields()
        for url in urls { try validate(url) }
        if urls.allSatisfy({ URL(string: $0)?.scheme?.lowercased() == "http" }), !request.followsRedirects {
            try connection.requireNoTLS("use https://, or add -L if the server redirects to it")
        }
        if !endpoint.directNames.isEmpty, !connection.proxy.isEmpty || connection.pac != nil {
            throw ValidationError("\(endpoint.directNames[0]) connects directly and cannot be combined with a proxy.")
        }
    }

    /// Throws if -H omits a field that another option sends.
    private func validateOmittedFields() throws {
        let omitted = try request.omittedFields()
        let senders: [(HTTPFieldName, String, Bool)] = [
            (.contentType, "-F", !request.form.isEmpty), (.acceptEncoding, "--compressed", request.compressed),
            (.cookie, "-b", !request.cookie.isEmpty), (.range, "--resume", resume),
            (.authorization, "--bearer", login.bearer != nil), (.authorization, "-u", login.user != nil),
        ]
        for (name, sender, isGiven) in senders where isGiven && omitted.contains(name) {
            throw ValidationError("-H '\(name.canonicalName):' cannot be combined with \(sender), which sends it.")
        }
    }

    private func validate(_ url: String) throws {
        // A text that is not a URL is reported when the command runs.
        guard let address = URL(string: url) else { return }
        guard FTPOptions.isFTP(url) else {
            if ftp.tls != nil || ftp.active != nil {
                throw ValidationError("--tls and --active require an ftp or ftps URL.")
            }
            return
        }
        let names = request.names + output.httpNames + limits.httpNames + endpoint.names + login.httpOptions
        guard names.isEmpty else {
            let advice = names.contains("-T") ? " Upload with netkit put FILE URL." : ""
            throw ValidationError(
                "\(names.joined(separator: ", ")): not supported for \(address.scheme ?? "") URLs, only for http and https.\(advice)"
            )
        }
        if output.noClobber { throw ValidationError("--no-clobber is not supported for \(address.scheme ?? "") URLs.") }
    }

    /// The URL of an argument, with the user of `-u`.
    private func address(of url: String) throws -> URL {
        guard let address = URLArgument.url(url).map(login.url(for:)), address.scheme != nil else {
            throw URLArgument.Invalid(url)
        }
        try URLArgument.checkEscapes(url)
        return address
    }

    func run() async throws {
        do {
            for url in urls { _ = try address(of: url) }
        } catch {
            if output.json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            try fail(error)
        }
        let destinations = try output.destinations(of: urls)
        if urls.count == 1, FTPOptions.isFTP(urls[0]) { return try await runFTP(urls[0], destinations[0].path) }
        let (settings, jar): (HTTPTransfer.Settings, CookieJar)
        do {
            jar = try CookieJar(
                request.cookie, for: urls.filter { !FTPOptions.isFTP($0) }.map(address(of:)), writing: request.cookieJar
            )
            settings = try makeSettings(jar.cookies)
        } catch {
            try fail(error)
        }
        var failures = await withNetworkExecutor { [self] in await loadAll(destinations, settings) }
        do {
            try jar.save()
        } catch {
            failures.append(TransferFailure(error))
            Terminal.say("netkit: \(error.description)")
        }
        if let first = failures.first { throw first.status.exitCode }
    }

    /// Loads the URLs in their order, with -Z several at once. Returns the failures in the order of the URLs.
    private func loadAll(
        _ destinations: [OutputDestination], _ settings: HTTPTransfer.Settings
    ) async -> [TransferFailure] {
        let limit = parallel ? parallelMax ?? 6 : 1
        return await withTaskGroup(of: (Int, TransferFailure?).self) { group in
            var failures: [(Int, TransferFailure)] = []
            for index in urls.indices {
                if index >= limit, let (ended, failure) = await group.next(), let failure {
                    failures.append((ended, failure))
                }
                group.addTask { (index, await load(urls[index], destinations[index], settings)) }
            }
            for await (ended, failure) in group {
                if let failure { failures.append((ended, failure)) }
            }
            return failures.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Loads one URL and prints its failure.
    private func load(
        _ url: String, _ destination: OutputDestination, _ settings: HTTPTransfer.Settings
    ) async -> TransferFailure? {
        do {
            if FTPOptions.isFTP(url) {
                try await runFTP(url, destination.path)
                return nil
            }
            let transfer: HTTPTransfer
            do {
                transfer = try self.transfer(url, destination, settings)
            } catch {
                if output.json { JSONOutput.show(["url": JSONOutput.url(url), "error": JSONOutput.error(error)]) }
                throw error
            }
            guard let failure = await transfer.run().failure else { return nil }
            throw failure
        } catch let code as ExitCode {
            // The verb for FTP has printed the failure.
            return TransferFailure("", ExitStatus(rawValue: code.rawValue) ?? .other)
        } catch {
            let failure = error as? TransferFailure ?? TransferFailure(error)
            Terminal.say("netkit: \(urls.count > 1 ? "\(Terminal.shownURL(url)): " : "")\(failure.sentence)")
            return failure
        }
    }

    private func fail(_ error: any Error) throws -> Never {
        guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }

    // MARK: From the command line to a transfer

    private func transfer(
        _ url: String, _ destination: OutputDestination, _ settings: HTTPTransfer.Settings
    ) throws -> HTTPTransfer {
        let address = try address(of: url)
        if let scheme = address.scheme?.lowercased(), !["http", "https"].contains(scheme) {
            throw URLArgument.unsupported(url, scheme, use: "http, https, ftp or ftps")
        }
        _ = try HTTPOrigin(address)
        var sent = try request.request(for: address)
        try login.addBearer(to: &sent)
        let offset = resume ? destination.path.map(OutputFile.partialSize(of:)) ?? 0 : 0
        if offset > 0 { try sent.fields.set("bytes=\(offset)-", for: .range) }
        let body = try request.body(rate: settings.rate)
        return HTTPTransfer(
            settings: settings, url: url, request: sent, body: body, destination: destination, offset: offset)
    }

    /// The session of all transfers, which logs in to servers and proxies with the logins of the command line only.
    private func makeSettings(_ cookies: HTTPCookies) throws -> HTTPTransfer.Settings {
        let prompt = login.prompt()
        var configuration = try login.configuration(prompt)
        configuration.followsRedirects = request.followsRedirects
        configuration.decodesContent = request.compressed
        // For an http URL TLS is set up only where a redirect may lead to https; --cacert is for proxies, too.
        let mayUseTLS = request.followsRedirects || urls.contains { URL(string: $0)?.scheme?.lowercased() == "https" }
        if mayUseTLS, let tls = try connection.tls() { configuration.tls = tls }
        let proxies = try connection.settings()
        configuration.proxies = .settings(proxies)
        configuration.cookies = .shared(cookies)
        configuration.onRequest = { LoadCourse.current?.add($0) }
        limits.apply(to: &configuration)
        try endpoint.apply(to: &configuration.properties)
        return HTTPTransfer.Settings(
            session: HTTPSession(configuration), proxies: proxies, login: login, prompt: prompt, output: output,
            writeOut: try output.writeOut.map(WriteOut.init),
            stallTimeout: limits.stallTimeout.map { .seconds($0) }, rate: try limits.pace.rate(),
            drawsProgress: !parallel || urls.count == 1)
    }
}
