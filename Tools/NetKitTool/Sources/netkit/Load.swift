import Foundation
import NetKit

/// The load of one URL: opens the response and writes its body.
struct Load: Sendable {
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
    let printsHead: Bool
    /// Prints the course so far, before the body; nil to print nothing.
    let prints: (@Sendable (LoadCourse) -> Void)?
    let discardsBody: Bool
    /// Whether the body of a response with the status 400 or above is not written, as with `-f`.
    let discardsBodyOfErrors: Bool
    let showsProgress: Bool
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
        if printsHead {
            for entry in course.streams where entry.stream !== stream {
                if let earlier = entry.stream[.httpResponse] {
                    Terminal.write("\(head(earlier))\n\n", to: STDOUT_FILENO)
                }
            }
            // An empty line separates the head from the body.
            let end: ShownText = isHead || path != nil ? "\n" : "\n\n"
            Terminal.write("\(head(response))\(end)", to: STDOUT_FILENO)
        }
        if printsHead && !discardsBody && path == nil && isHead { return }
        // Without a body, an existing file stays as it is. Neither does the body of an error replace it.
        let hasBody = response.status != .noContent && response.status != .notModified && !isHead
        if path != nil, !hasBody || response.status.code >= 400, response.status != .rangeNotSatisfiable { return }
        if discardsBodyOfErrors, response.status.code >= 400, response.status != .rangeNotSatisfiable { return }
        if response.status.code == 416, offset > 0, isComplete(response) {
            if let path { try OutputFile(path: path, keeping: offset).finish() }
            Terminal.say("netkit: \(path ?? "") is already complete.")
            outcome.response = nil  // this 416 is not a failure
            return
        }
        // A server that does not support ranges sends the whole file, which then replaces the partial one.
        let begin = response.status.code == 206 ? offset : 0
        if begin > 0, !begins(response, at: offset) {
            throw StreamError(
                domain: .http, code: HTTPErrorNumber.parseFailure.rawValue,
                sentence: Sentence(
                    "tool.range", "The server did not resume at byte %1; omit --resume to download the whole file.",
                    String(offset)))
        }
        if let coding = undecoded(response, stream) {
            throw StreamError(
                domain: .http, code: HTTPErrorNumber.parseFailure.rawValue,
                sentence: Sentence(
                    "tool.coding",
                    "The body has the coding %1, which cannot be decoded; omit --compressed to get it as it is.",
                    coding))
        }
        if let path {
            if response.status == .rangeNotSatisfiable { return }
            let file = try OutputFile(path: path, keeping: begin, keepsExisting: destination.keepsExisting)
            try await copy(stream, to: file, from: begin, &outcome)
        } else {
            try await copy(stream, to: OutputFile(), from: 0, &outcome)
        }
    }

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
                try? await Task.sleep(for: .milliseconds(100))
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

    /// The content coding that the body still has although it was to be decoded; nil if there is none.
    private func undecoded(_ response: HTTPResponse, _ stream: ReadStream) -> String? {
        guard stream[.httpDecodesContent] == true, let coding = response.fields[.contentEncoding]?.lowercased(),
            !coding.isEmpty, coding != "identity", !["gzip", "x-gzip", "deflate"].contains(coding)
        else { return nil }
        // A coding whose library is installed was requested.
        let requested = stream[.httpFinalRequest]?.fields[.acceptEncoding] ?? ""
        let names = requested.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        return names.contains(coding) ? nil : coding
    }

    private func copy(
        _ stream: ReadStream, to file: consuming OutputFile, from begin: Int64, _ outcome: inout Outcome
    ) async throws {
        var rate = rate
        var buffer = [UInt8](repeating: 0, count: rate?.pieceSize ?? ReadStream.chunkSize)
        let total = stream[.httpBodyLength].flatMap { length in
            let (sum, isTooLarge) = length.addingReportingOverflow(begin)
            return isTooLarge ? nil : sum
        }
        var progress = showsProgress ? ProgressBar(total: total, offset: begin) : nil
        let start = ContinuousClock.now
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            if !discardsBody { try file.write(buffer.span.bytes.extracting(..<count)) }
            outcome.count += Int64(count)
            progress?.show(begin + outcome.count)
            if let pause = rate?.pause(after: count, now: start.duration(to: .now) / .seconds(1)), pause > .zero {
                try? await Task.sleep(for: pause)
            }
        }
        progress?.finish(begin + outcome.count)
        outcome.path = try file.finish()
    }

    /// The response head as received, with control characters and password proofs replaced.
    private func head(_ response: HTTPResponse) -> ShownText {
        var response = response
        for field in response.fields {
            let shown = Terminal.shownField(field.name.description, field.value)
            if shown != field.value { try? response.fields.set(shown, for: field.name) }
        }
        return ShownText(lines: response.description)
    }

    /// Whether the partial file is complete: `Content-Range: bytes */N` holds the full size (RFC 9110 §15.5.17).
    private func isComplete(_ response: HTTPResponse) -> Bool {
        response.fields[.contentRange] == "bytes */\(offset)"
    }

    /// Whether the response holds the part of the file from an offset on.
    private func begins(_ response: HTTPResponse, at offset: Int64) -> Bool {
        response.fields[.contentRange]?.hasPrefix("bytes \(offset)-") == true
    }
}

extension Load.Outcome {
    /// The transfer as a JSON object.
    ///
    /// - Parameters:
    ///   - report: the requests of the transfer.
    ///   - failure: the failure of a transfer whose connection did not fail, such as a status of 404.
    func json(url: String, report: LoadReport, failure: TransferFailure?) -> ShownText {
        var facts: JSONOutput.Facts = ["url": JSONOutput.url(url), "bytes": count, "seconds": time / .seconds(1)]
        facts["finalURL"] = stream?[.httpFinalURL].map { JSONOutput.url($0.absoluteString) }
        if let response {
            facts["status"] = response.status.code
            facts["reason"] = response.reason
            facts["version"] = response.version.description
            facts["headers"] = response.fields.map { field in
                let name = field.name.description
                return ["name": name, "value": Terminal.shownField(name, field.value)]
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
        facts["steps"] = JSONOutput.steps(stream?.report ?? ConnectionReport(report.hops.last?.steps ?? []))
        facts["hops"] = report.facts
        return JSONOutput.line(facts)
    }
}
