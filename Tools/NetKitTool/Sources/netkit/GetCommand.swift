import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

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
              netkit get -o 'page-#1.html' 'https://www.example.org/list?page=[1-3]'
              netkit get -x socks5h://localhost:9050 -x http://inner:3128 \\
                https://www.example.org/

            The body goes to standard output, or to FILE with -o: it is written to FILE.part first, which is renamed at the end \
            and kept after a failure for --resume. With -o, the body of an error response is not written. Progress is shown on a \
            terminal unless the body is written there. A failure is reported in one sentence; --report prints every step.

            With -r, files keep their dates. In an FTP URL, * and ? are wildcards: what matches is saved under its own name, in \
            the current folder with -O, or in the folder of -o.

            Several URLs are loaded in their order over shared connections, with the same options. In a URL, {a,b} stands for each \
            of some texts, and [1-3], [001-100:10] or [a-z] for each of a range. The exit code is that of the first failure.
            """
    )

    @Argument(help: "http, https, ftp or ftps URLs.")
    var urls: [String]

    @Flag(name: [.customShort("g"), .long], help: "Take braces and brackets in URLs as they are.")
    var globoff = false

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

    @Flag(
        name: [.customShort("p"), .long],
        help: "Let an HTTP proxy establish a tunnel for http and ftp URLs, too, in place of sending it the request.")
    var proxytunnel = false

    @Option(help: ArgumentHelp("The number of loads at the same time with -Z. Default: 6.", valueName: "NUMBER"))
    var parallelMax: Int?

    func validate() throws {
        let globs: [URLGlob]
        do throws(URLArgument.Invalid) {
            globs = try self.globs()
        } catch {
            // An argument that is not a URL is reported when the command runs.
            return
        }
        let targets = try output.targets(of: globs)
        let urls = targets.map(\.url)
        if recursive { try validateTree(urls) } else { try tree.requireNone() }
        if urls.contains(where: { FTPWildcards.pattern(of: $0) != nil }) {
            guard urls.count == 1 else { throw ValidationError("A URL with wildcards must be the only one.") }
            guard output.remoteName || FTPWildcards.isFolder(output.files.first) else {
                throw ValidationError("A URL with wildcards requires -O, or -o with a folder that exists.")
            }
        }
        if resume, !recursive {
            if targets.contains(where: { $0.destination.path == nil }) {
                throw ValidationError("--resume requires -o FILE, the partial file.")
            }
            if output.noClobber || output.remoteHeaderName {
                throw ValidationError("--resume cannot be combined with --no-clobber or -J.")
            }
            if request.range != nil { throw ValidationError("--resume cannot be combined with --range.") }
        }
        if proxytunnel, connection.pac != nil { throw ValidationError("-p cannot be combined with --pac.") }
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
            if output.har != nil || output.reportHtml != nil || output.etagSave != nil {
                throw ValidationError("--har, --report=html and --etag-save take one URL.")
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

    private func validateTree(_ urls: [String]) throws {
        if urls.contains(where: { !FTPOptions.isFTP($0) }) {
            throw ValidationError(
                "-r downloads a directory tree, from an ftp or ftps URL. For a part of a file, use --range 0-9."
            )
        }
        if urls.count > 1 { throw ValidationError("-r takes one URL.") }
        if output.remoteName, FTPWildcards.pattern(of: urls[0]) == nil {
            throw ValidationError("-O cannot be combined with -r.")
        }
        if output.silent { throw ValidationError("-s cannot be combined with -r.") }
        if output.report { throw ValidationError("--report cannot be combined with -r.") }
    }

    /// The arguments, with their braces and brackets.
    private func globs() throws(URLArgument.Invalid) -> [URLGlob] {
        var globs: [URLGlob] = []
        for url in urls { globs.append(globoff ? URLGlob(literal: url) : try URLGlob(url)) }
        return globs
    }

    /// Throws if -H omits a field that another option sends.
    private func validateOmittedFields() throws {
        let omitted = try request.omittedFields()
        let senders: [(HTTPFieldName, String, Bool)] = [
            (.contentType, "-F", !request.form.isEmpty), (.acceptEncoding, "--compressed", request.compressed),
            (.cookie, "-b", !request.cookie.isEmpty), (.range, "--resume", resume),
            (.range, "--range", request.range != nil),
            ("Referer", "-e", request.referer != nil), (.ifNoneMatch, "--etag-compare", request.etagCompare != nil),
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
        let targets: [OutputTarget]
        let (proxies, jar, session): (ProxySettings, CookieJar, HTTPTransfer.Settings)
        do {
            targets = try output.targets(of: globs())
            // One of several that is not a URL is reported when its turn comes.
            let addresses = try targets.compactMap { target in
                do {
                    return try address(of: target.url)
                } catch is URLArgument.Invalid where targets.count > 1 {
                    return nil
                }
            }
            proxies = try connection.settings(
                usesTunnels: proxytunnel, user: login.proxyUser.map(UserAndPassword.init))
            jar = try CookieJar(
                request.cookie, for: addresses.filter { !FTPOptions.isFTP($0.absoluteString) },
                writing: request.cookieJar, junksSessionCookies: request.junkSessionCookies)
            session = try makeSettings(jar, proxies, targets.count)
        } catch {
            if output.json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            try fail(error)
        }
        let clients = FTPClients()
        var failures = await withNetworkExecutor { [self] in
            let failures = await loadAll(targets, session, clients)
            await clients.close()
            return failures
        }
        // A file that cannot be written costs itself.
        var unsaved: [OutputFile.Failure] = []
        do throws(OutputFile.Failure) { try jar.save() } catch { unsaved.append(error) }
        do throws(OutputFile.Failure) { try session.heads?.save() } catch { unsaved.append(error) }
        for failure in unsaved {
            failures.append(TransferFailure(failure))
            Terminal.say("netkit: \(failure.description)")
        }
        if let first = failures.first { throw first.status.exitCode }
    }

    /// Loads the URLs in their order, with -Z several at once. Returns the failures in the order of the URLs.
    private func loadAll(
        _ targets: [OutputTarget], _ settings: HTTPTransfer.Settings, _ clients: FTPClients
    ) async -> [TransferFailure] {
        let limit = parallel ? parallelMax ?? 6 : 1
        return await withTaskGroup(of: (Int, TransferFailure?).self) { group in
            var failures: [(Int, TransferFailure)] = []
            for index in targets.indices {
                if index >= limit, let (ended, failure) = await group.next(), let failure {
                    failures.append((ended, failure))
                }
                group.addTask { (index, await load(targets[index], settings, clients, isOnly: targets.count == 1)) }
            }
            for await (ended, failure) in group {
                if let failure { failures.append((ended, failure)) }
            }
            return failures.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Loads one URL and prints its failure.
    private func load(
        _ target: OutputTarget, _ settings: HTTPTransfer.Settings, _ clients: FTPClients, isOnly: Bool
    ) async -> TransferFailure? {
        let url = target.url
        do {
            let isFTP = FTPOptions.isFTP(url)
            if isFTP, try await !isLoadedByProxy(url, settings.proxies) {
                try await runFTP(url, target.destination, settings.proxies, clients)
                return nil
            }
            let transfer: HTTPTransfer
            do {
                // The request may have to be read from files and pipes.
                transfer = try await BlockingThreads.files(at: target.destination.path ?? ".")
                    .call(within: OutputFile.patience) { try self.transfer(url, target.destination, settings) }
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
            Terminal.say("netkit: \(isOnly ? "" : "\(Terminal.shownURL(url)): ")\(failure.sentence)")
            return failure
        }
    }

    /// Whether an HTTP proxy is to load a file of an FTP server, as for an http URL. Otherwise proxies establish tunnels.
    private func isLoadedByProxy(_ url: String, _ proxies: ProxySettings) async throws -> Bool {
        guard !recursive, !resume, ftp.tls == nil, ftp.active == nil, !connection.demandsTLS,
            FTPWildcards.pattern(of: url) == nil
        else { return false }
        let address = try address(of: url)
        guard address.scheme?.lowercased() == "ftp" else { return false }
        let proxy = try await proxies.resolvedRoutes(for: address).first?.hops.last as? HTTPProxy
        return proxy?.usesTunnels == false
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
        if let scheme = address.scheme?.lowercased(), !["http", "https", "ftp"].contains(scheme) {
            throw URLArgument.unsupported(url, scheme, use: "http, https, ftp or ftps")
        }
        if !FTPOptions.isFTP(url) { _ = try HTTPOrigin(address) }
        let form = try request.multipartForm()
        var sent = try request.request(for: address, form)
        try login.addBearer(to: &sent)
        if !FTPOptions.isFTP(url) { try settings.jar.add(to: &sent.fields, for: address) }
        let offset = resume ? destination.path.map(OutputFile.partialSize(of:)) ?? 0 : 0
        if offset > 0 { try sent.fields.set("bytes=\(offset)-", for: .range) }
        let body = try request.body(form, rate: settings.rate)
        return HTTPTransfer(
            settings: settings, url: url, request: sent, body: body, destination: destination, resumes: resume,
            offset: offset)
    }

    /// The session of all transfers, which logs in to servers and proxies with the logins of the command line only.
    private func makeSettings(
        _ jar: CookieJar, _ proxies: ProxySettings, _ count: Int
    ) throws -> HTTPTransfer.Settings {
        let prompt = login.prompt()
        var configuration = try login.configuration(prompt)
        configuration.options.followsRedirects = request.followsRedirects
        configuration.options.decodesContent = request.compressed
        if let versions = request.versions { configuration.options.versions = versions }
        // For an http URL TLS is set up only where a redirect may lead to https; --cacert is for proxies, too.
        let mayUseTLS =
            request.followsRedirects
            || urls.contains { $0.utf8.count > 5 && $0.prefix(6).lowercased() == "https:" }
        if mayUseTLS, let tls = try connection.tls() { configuration.options.tls = tls }
        configuration.proxies = .settings(proxies)
        configuration.cookies = .shared(jar.cookies)
        // Without a Cookie field of the caller's.
        if jar.text != nil, try !request.hasField(.cookie) { configuration.onRedirect = { jar.redirected($0) } }
        configuration.onRequest = { LoadCourse.current?.add($0) }
        limits.apply(to: &configuration)
        try endpoint.apply(to: &configuration.options)
        return HTTPTransfer.Settings(
            session: HTTPSession(configuration), jar: jar, proxies: proxies, login: login, prompt: prompt,
            output: output,
            writeOut: try output.writeOut.map(WriteOut.init), heads: output.dumpHeader.map(HeadDump.init),
            stallTimeout: limits.stallTimeout.map { .seconds($0) }, rate: try limits.pace.rate(),
            maximumSize: try limits.maximumSize(),
            drawsProgress: !parallel || count == 1)
    }
}
