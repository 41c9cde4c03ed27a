import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// One HTTP transfer of `netkit get`: sends the request, writes the body, and prints what the options ask for.
///
/// The transfers of a command share a session: its connections, logins and cookies.
struct HTTPTransfer: Sendable {
    /// The end of a transfer.
    struct Result: Sendable {
        var url: String
        var outcome: Load.Outcome
        var report: LoadReport
        /// Nil for a response with a status below 400 whose body was written.
        var failure: TransferFailure?
    }

    /// What the transfers of a command have in common.
    struct Settings: Sendable {
        var session: HTTPSession
        var jar: CookieJar
        var proxies: ProxySettings
        var login: LoginOptions
        var prompt: LoginPrompt
        var output: OutputOptions
        var writeOut: WriteOut?
        var heads: HeadDump?
        var stallTimeout: Duration?
        var rate: Int64?
        /// The most bytes of a body; nil for no limit.
        var maximumSize: Int64?
        /// Whether a transfer may draw its progress, since no other one runs at the same time.
        var drawsProgress: Bool
    }

    let settings: Settings
    let url: String
    let request: HTTPRequest
    let body: HTTPBody?
    let destination: OutputDestination
    /// Whether a partial file is continued.
    let resumes: Bool
    /// The size of the partial file that is continued.
    let offset: Int64

    /// Transfers the body and prints the result, except for its failure.
    func run() async -> Result {
        let course = LoadCourse()
        let load = makeLoad(course)
        var outcome = await LoadCourse.$current.withValue(course) { await load.run() }
        if outcome.restarts { return await restarted().run() }
        if case .failure(let error as StreamError) = outcome.result, outcome.response == nil,
            let stream = outcome.stream ?? course.stream, let url = stream[.httpFinalURL] ?? request.url
        {
            outcome.result = .failure(
                await ProxyFault.attributed(error, stream.report, to: url, settings.proxies))
        }
        var result = Result(url: url, outcome: outcome, report: outcome.report(of: course))
        result.failure = failure(of: outcome)
        show(result)
        // The files explain a failure best.
        let unsaved = await failureOfSaving(result)
        if let unsaved, result.failure != nil { Terminal.say("netkit: \(unsaved.sentence)") }
        result.failure = result.failure ?? unsaved
        return result
    }

    /// The transfer of the whole, in place of the rest.
    private func restarted() -> HTTPTransfer {
        var request = request
        request.fields.remove(.range)
        return HTTPTransfer(
            settings: settings, url: url, request: request, body: body, destination: destination, resumes: resumes,
            offset: 0)
    }

    private func makeLoad(_ course: LoadCourse) -> Load {
        let output = settings.output
        let isFile = destination.path != nil
        let open = {
            @Sendable [self, session = settings.session, request, body] () async throws(StreamError) -> ReadStream in
            FTPOptions.isFTP(url)
                ? try await openByProxy(course) : try await session.open(request, body: body)
        }
        let showsProgress =
            settings.drawsProgress && !output.silent && !output.verbose && Terminal.isInteractive
            && (isFile || !Terminal.showsOutput)
        return Load(
            open: open,
            course: course, destination: destination, offset: offset, isHead: request.method == .head,
            heads: makeHeads(), hidesCookies: output.hideCookies,
            prints: output.verbose
                ? { @Sendable course in Verbose.show(course, hidesCookies: output.hideCookies) } : nil,
            discardsBody: output.json && !isFile, discardsBodyOfErrors: output.failsOnErrors,
            showsProgress: showsProgress,
            keepsDate: output.remoteTime, maximumSize: settings.maximumSize, uploads: body != nil,
            stallTimeout: settings.stallTimeout, rate: settings.rate.map(RateLimit.init))
    }

    /// Opens a file of an FTP server through an HTTP proxy. A session is for http: its cookies and logins are not for FTP.
    private func openByProxy(_ course: LoadCourse) async throws(StreamError) -> ReadStream {
        let stream = ReadStream(request: request)
        let configuration = settings.session.configuration
        try stream.set(.http(\.proxySettings), to: settings.proxies)
        try stream.set(.http(\.totalTimeout), to: configuration.options.totalTimeout)
        try stream.set(.openTimeout, to: configuration.options.connection[.openTimeout])
        course.add(stream)
        try stream.open()
        try await stream.opened()
        return stream
    }

    /// Where the heads of the responses are written.
    private func makeHeads() -> [Load.HeadDestination] {
        let output = settings.output
        var heads = settings.heads.map { [Load.HeadDestination.dump($0)] } ?? []
        if (request.method == .head || output.include) && !output.json {
            heads.append(destination.path == nil || resumes ? .standardOutput : .file)
        }
        return heads
    }

    /// Prints the steps, the JSON object and the text of -w.
    private func show(_ result: Result) {
        let output = settings.output
        if output.report {
            for line in Waterfall.lines(result.report, .errors, columns: Terminal.isInteractive ? Terminal.width : nil)
            { Terminal.say(line) }
        }
        if output.json {
            let (report, failure) = (result.report, result.failure)
            Terminal.print(result.outcome.json(url: url, report, failure, hidesCookies: output.hideCookies))
        }
        if let writeOut = settings.writeOut { Terminal.write(writeOut.text(result), to: STDOUT_FILENO) }
    }

    /// Writes the files about the transfer, on a thread for files.
    private func failureOfSaving(_ result: Result) async -> TransferFailure? {
        let output = settings.output
        guard let path = output.etagSave ?? output.har ?? output.reportHtml else { return nil }
        do {
            try await BlockingThreads.files(at: path).call(within: OutputFile.patience) {
                () throws(OutputFile.Failure) in try save(result)
            }
            return nil
        } catch {
            return TransferFailure(error)
        }
    }

    /// - Throws: the first failure. A file that cannot be written costs itself.
    private func save(_ result: Result) throws(OutputFile.Failure) {
        let output = settings.output
        var failure: OutputFile.Failure?
        func write(_ path: String?, _ text: () -> ShownText?) {
            guard let path, let text = text() else { return }
            do throws(OutputFile.Failure) {
                try OutputFile.write(text, to: path)
            } catch {
                failure = failure ?? error
            }
        }
        if result.failure == nil {
            write(output.etagSave) { result.outcome.response?.fields[.entityTag].map { "\($0)\n" } }
        }
        write(output.har) { HTTPArchive.json(result.report) + "\n" }
        write(output.reportHtml) { ReportPage.page(result.report, url: url).text }
        if let failure { throw failure }
    }

    /// The failure of a transfer: of the connection, of the file, or a status of 400 and above.
    private func failure(of outcome: Load.Outcome) -> TransferFailure? {
        if case .failure(let error) = outcome.result {
            return TransferFailure(error, after: outcome.response)
        }
        guard let response = outcome.response, response.status.code >= 400 else { return nil }
        let isProxys = response.status == .proxyAuthenticationRequired
        return TransferFailure(
            settings.login.refusal(response, settings.prompt)
                ?? "The \(isProxys ? "proxy" : "server") responded: \(response.shownStatus).",
            isProxys ? .proxyRefused : .serverError)
    }
}

/// A failure of a verb, as it is printed.
struct TransferFailure: Error {
    var sentence: String
    var status: ExitStatus

    init(_ sentence: String, _ status: ExitStatus) {
        self.sentence = sentence
        self.status = status
    }

    /// Describes an error; one that no verb expects has the status 1.
    init(_ error: any Error, after response: HTTPResponse? = nil) {
        let known = ExitStatus.describe(error, after: response)
        self.init(known?.sentence ?? "\(error)", known?.status ?? (error is ValidationError ? .usage : .other))
    }
}
