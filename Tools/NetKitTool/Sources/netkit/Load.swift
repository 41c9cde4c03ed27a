import Foundation
@_spi(Packages) import NetKit

/// The load of one URL: opens the response and writes its body.
struct Load: Sendable {
    /// Where the heads of the responses are written, besides the body.
    enum HeadDestination: Sendable {
        case standardOutput
        /// The file of the body; standard output if nothing is written to it.
        case file
        /// The file of -D.
        case dump(HeadDump)
    }

    /// The result of a load.
    struct Outcome: Sendable {
        var response: HTTPResponse?
        var count: Int64 = 0
        var time: Duration = .zero
        /// The failure is a `StreamError` or an `OutputFile.Failure`.
        var result: Result<Void, any Error> = .success(())
        /// The stream of the final response, if there was one.
        var stream: ReadStream?
        /// The file of the body; nil for standard output.
        var path: String?
        /// Whether the partial file cannot be continued, and the whole is to be requested.
        var restarts = false
    }

    /// Opens the response to read.
    let open: @Sendable () async throws(StreamError) -> ReadStream
    /// The streams that ``open`` has tried. If it throws, only they have the reports of the steps.
    let course: LoadCourse
    let destination: OutputDestination
    /// The size of the partial file that is continued.
    let offset: Int64
    /// Whether the request is a HEAD request, whose response has no body.
    let isHead: Bool
    let heads: [HeadDestination]
    /// Whether the values of Set-Cookie are replaced in the heads.
    let hidesCookies: Bool
    /// Prints the course so far, before the body; nil to print nothing.
    let prints: (@Sendable (LoadCourse) -> Void)?
    let discardsBody: Bool
    /// Whether the body of a response with the status 400 or above is not written, as with `-f`.
    let discardsBodyOfErrors: Bool
    let showsProgress: Bool
    /// Whether a file gets the time of Last-Modified.
    let keepsDate: Bool
    /// The most bytes of the body; nil for no limit.
    let maximumSize: Int64?
    /// Whether the request has a body, whose progress is shown as well.
    let uploads: Bool
    /// The longest wait for bytes of the body; nil for no limit.
    let stallTimeout: Duration?
    let rate: RateLimit?

    func run() async -> Outcome {
        var outcome = Outcome()
        let start = ContinuousClock.now
        do {
            try await transfer(&outcome)
        } catch {
            // A body that cannot be decoded has a head all the same.
            if outcome.stream == nil { writeHeads(besidesFile: true) }
            outcome.result = .failure(error)
            outcome.response = outcome.stream?[.httpResponse]
        }
        prints?(course)
        outcome.time = start.duration(to: .now)
        outcome.stream?.close()
        return outcome
    }

    private func transfer(_ outcome: inout Outcome) async throws {
        let stream = try await opened()
        outcome.stream = stream
        if let stallTimeout { try stream.set(.readTimeout, to: stallTimeout) }
        let response = try await stream.response()
        outcome.response = response
        prints?(course)
        let path = destination.path(for: response)
        outcome.path = path
        // Without a body, an existing file stays as it is. Neither does the body of an error replace it.
        let isError = response.status.code >= 400 && response.status != .rangeNotSatisfiable
        let hasBody = response.status != .noContent && response.status != .notModified && !isHead
        let isWritten = !isError && (hasBody || (path != nil && writesHeadToFile && response.status != .notModified))
        let head = isWritten && path != nil && writesHeadToFile ? rawHeads() : []
        writeHeads(besidesFile: head.isEmpty)
        if !isWritten, path != nil || !hasBody || discardsBodyOfErrors { return }
        var (begin, length): (Int64, Int64?) = (0, nil)
        if offset > 0 {
            let hasEnd = stream[.httpBodyLength] != nil || response.fields[.transferEncoding] != nil
            switch Resumption(response, at: offset, hasEnd: hasEnd) {
            case .part(let range, let total): (begin, length) = (range.lowerBound, total)
            case .whole: break
            case .complete:
                if let path { try await OutputFile.open(path, keeping: offset).finish() }
                Terminal.say("netkit: \(path ?? "") is already complete.")
                outcome.response = nil  // this 416 is not a failure
                return
            case .restart:
                outcome.restarts = true
                return
            case .refusal(let sentence):
                throw StreamError(
                    domain: .http, code: HTTPErrorNumber.parseFailure.rawValue, sentence: sentence, reason: .notResumed)
            }
        }
        if stream[.http(\.decodesContent)] == true, let coding = stream[.httpRemainingContentCoding] {
            throw StreamError(
                domain: .http, code: HTTPErrorNumber.parseFailure.rawValue,
                sentence: Sentence(
                    "tool.coding",
                    "The body has the coding %1, which cannot be decoded; omit --compressed to get it as it is.",
                    coding),
                reason: .undecodable)
        }
        let isUnrequestedPart = isUnrequestedPart(response, stream)
        let partLength = Load.partLength(response, stream)
        if let partLength, let declared = stream[.httpBodyLength], declared > partLength {
            throw Load.contradictedRange(declared, partLength)
        }
        let size = FileSize(begin: begin, partLength: partLength, length: length)
        if let path {
            if response.status == .rangeNotSatisfiable { return }
            // The end of a file must not be taken for its beginning by --resume.
            if isUnrequestedPart, response.contentRange?.range?.lowerBound != 0 { throw Load.unrequestedPart }
            let file = try await destination.open(path, keeping: begin)
            try await file.write(head)
            try await copy(stream, to: file, size, isPart: isUnrequestedPart, &outcome)
        } else {
            try await copy(stream, to: OutputFile(), size, isPart: isUnrequestedPart, &outcome)
        }
    }

    /// What is known about the file that a body continues.
    private struct FileSize {
        /// The number of bytes that it keeps.
        var begin: Int64
        /// The number of bytes of the body, if it is a part.
        var partLength: Int64?
        /// The number of all bytes, if it is continued.
        var length: Int64?
    }

    /// The number of bytes of a part by its Content-Range; nil for another body, and for one that has been decoded.
    private static func partLength(_ response: HTTPResponse, _ stream: ReadStream) -> Int64? {
        guard response.status == .partialContent, let range = response.contentRange?.range,
            stream[.http(\.decodesContent)] != true || response.fields[.contentEncoding] == nil
        else { return nil }
        return range.upperBound - range.lowerBound
    }

    /// The error for a part that is longer than its Content-Range says: it is another part, or the whole.
    private static func contradictedRange(_ count: Int64, _ partLength: Int64) -> StreamError {
        StreamError(
            domain: .http, code: HTTPErrorNumber.connectionLost.rawValue,
            sentence: Sentence(
                "tool.longPart", "The server sent %1 bytes or more as a part that has %2 by its Content-Range.",
                String(count), String(partLength)),
            reason: .cutShort)
    }

    /// Whether a 206 answers a request for the whole, and is not the whole.
    private func isUnrequestedPart(_ response: HTTPResponse, _ stream: ReadStream) -> Bool {
        guard response.status == .partialContent, stream[.httpFinalRequest]?.fields.contains(.range) == false else {
            return false
        }
        let part = response.contentRange
        return part?.range?.lowerBound != 0 || part?.range?.upperBound != part?.length
    }

    private static let unrequestedPart = StreamError(
        domain: .http, code: HTTPErrorNumber.connectionLost.rawValue,
        sentence: Sentence("tool.part", "The server sent only a part, although the whole was requested."),
        reason: .cutShort)

    /// Opens the response, and shows the progress of the upload meanwhile.
    private func opened() async throws -> ReadStream {
        guard showsProgress, uploads else { return try await open() }
        let progress = Task { [course] in
            var bar: ProgressBar?
            while !Task.isCancelled {
                if let stream = course.stream, let sent = stream[.httpBodyBytesSent], sent > 0 {
                    let length = stream[.httpFinalRequest]?.fields[.contentLength].flatMap { Int64($0) }
                    if bar == nil { bar = ProgressBar(total: length, offset: 0) }
                    bar?.show(sent)
                }
                try? await EventLoop.shared.sleep(for: .milliseconds(100))
            }
            if let sent = course.stream?[.httpBodyBytesSent] { bar?.finish(sent) }
        }
        let result: Result<ReadStream, StreamError>
        do throws(StreamError) {
            result = .success(try await open())
        } catch {
            result = .failure(error)
        }
        progress.cancel()
        await progress.value
        return try result.get()
    }

    private func copy(
        _ stream: ReadStream, to file: OutputFile, _ size: FileSize, isPart: Bool, _ outcome: inout Outcome
    ) async throws {
        let begin = size.begin
        var rate = rate
        var buffer = [UInt8](repeating: 0, count: rate?.pieceSize ?? ReadStream.chunkSize)
        let total = stream[.httpBodyLength].flatMap { length in
            let (sum, isTooLarge) = length.addingReportingOverflow(begin)
            return isTooLarge ? nil : sum
        }
        try checkSize(total ?? 0)
        var progress = showsProgress ? ProgressBar(total: total, offset: begin) : nil
        let start = ContinuousClock.now
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            if let partLength = size.partLength, outcome.count + Int64(count) > partLength {
                // What was received is not known to belong where it was written.
                try await file.truncate(to: begin)
                throw Load.contradictedRange(outcome.count + Int64(count), partLength)
            }
            try checkSize(begin + outcome.count + Int64(count))
            if !discardsBody { try await file.write(buffer, count: count) }
            outcome.count += Int64(count)
            progress?.show(begin + outcome.count)
            if let pause = rate?.pause(after: count, now: start.duration(to: .now) / .seconds(1)), pause > .zero {
                try? await EventLoop.shared.sleep(for: pause)
            }
        }
        progress?.finish(begin + outcome.count)
        let whole = size.length ?? size.partLength.map { begin + $0 }
        if let whole, begin + outcome.count < whole {
            let counts = [String(begin + outcome.count), String(whole)]
            throw StreamError(
                domain: .http, code: HTTPErrorNumber.connectionLost.rawValue,
                sentence: offset > 0
                    ? Sentence(
                        "tool.short",
                        "The server sent a part of the rest: %1 of %2 bytes are here. --resume continues it.",
                        counts[0],
                        counts[1])
                    : Sentence(
                        "tool.shortPart", "The server sent %1 of the %2 bytes that its Content-Range announces.",
                        counts[0],
                        counts[1]),
                reason: .cutShort)
        }
        if isPart { throw Load.unrequestedPart }
        let date = keepsDate ? outcome.response?.fields[.lastModified].flatMap { HTTPDate($0) } : nil
        outcome.path = try await file.finish(date: date?.secondsSinceEpoch)
    }

    private func checkSize(_ size: Int64) throws {
        guard let maximumSize, size > maximumSize else { return }
        throw OutputFile.Failure.tooLarge(maximumSize)
    }

    // MARK: Heads

    private var writesHeadToFile: Bool { heads.contains { if case .file = $0 { true } else { false } } }

    /// The responses so far, with those of redirects and logins.
    private var responses: [HTTPResponse] { course.streams.compactMap { $0.stream[.httpResponse] } }

    /// Prints the heads and keeps them for -D.
    ///
    /// - Parameter besidesFile: whether the heads for the body's file are printed, since nothing is written to it.
    private func writeHeads(besidesFile: Bool) {
        for destination in heads {
            switch destination {
            case .dump(let dump): dump.append(rawHeads())
            case .file where !besidesFile: break
            case .file, .standardOutput:
                // An empty line follows each head, and separates the last one from the body.
                for response in responses {
                    Terminal.write("\(ShownText(lines: text(response, end: "\n")))", to: STDOUT_FILENO)
                }
            }
        }
    }

    /// The heads for a file.
    private func rawHeads() -> [UInt8] { Array(responses.map { text($0, end: "\r\n") }.joined().utf8) }

    /// A response head as received, with password proofs replaced, and the empty line after it.
    private func text(_ response: HTTPResponse, end: String) -> String {
        let fields = response.fields.map { field in
            let name = field.name.description
            return "\(name): \(Terminal.shownField(name, field.value, hidesCookies: hidesCookies))"
        }
        return ([response.firstLine] + fields).map { $0 + end }.joined() + end
    }
}

extension Load.Outcome {
    /// The transfer as a JSON object.
    ///
    /// - Parameters:
    ///   - report: the requests of the transfer.
    ///   - failure: the failure of a transfer whose connection did not fail, such as a status of 404.
    ///   - hidesCookies: whether the values of Set-Cookie are replaced.
    func json(
        url: String, _ report: LoadReport, _ failure: TransferFailure?, hidesCookies: Bool
    ) -> ShownText {
        var facts: JSONOutput.Facts = ["url": JSONOutput.url(url), "bytes": count, "seconds": time / .seconds(1)]
        facts["finalURL"] = stream?[.httpFinalURL].map { JSONOutput.url($0.absoluteString) }
        if let response {
            facts["status"] = response.status.code
            facts["reason"] = response.reason
            facts["version"] = response.version.shown
            facts["headers"] = response.fields.map { field in
                let name = field.name.description
                return ["name": name, "value": Terminal.shownField(name, field.value, hidesCookies: hidesCookies)]
            }
        }
        if let tls = stream?[.tlsInformation] {
            facts["tls"] = ["version": "\(tls.version)", "cipher": tls.cipher]
        }
        if case .failure(let error) = result {
            facts["error"] = JSONOutput.error(error)
        } else if let failure {
            facts["error"] = ["sentence": failure.sentence]
        }
        facts["steps"] = JSONOutput.steps(stream?.shownReport ?? ConnectionReport(report.hops.last?.steps ?? []))
        facts["hops"] = report.facts
        return JSONOutput.line(facts)
    }
}
