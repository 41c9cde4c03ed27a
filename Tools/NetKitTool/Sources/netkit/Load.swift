import Foundation
import NetKit

/// One HTTP transfer of `netkit get`: opens the response and writes its body.
struct Load: Sendable {
    /// The result of a transfer.
    struct Outcome: Sendable {
        var response: HTTPResponse?
        var count: Int64 = 0
        var time: Duration = .zero
        /// The failure is a `StreamError` or an `OutputFile.Failure`.
        var result: Result<Void, any Error> = .success(())
        /// The stream of the final response, if there was one.
        var stream: ReadStream?
    }

    /// Opens the response to read.
    let open: @Sendable () async throws(StreamError) -> ReadStream
    /// The streams that ``open`` has tried. If it throws, only they have the reports of the steps.
    let tried: LoadCourse
    /// The URL on the command line.
    let url: URL?
    let path: String?
    /// The size of the partial file that is continued.
    let offset: Int64
    /// Whether the request is a HEAD request, whose response has no body.
    let isHead: Bool
    let printsHead: Bool
    let discardsBody: Bool
    let showsProgress: Bool

    func run() async -> Outcome {
        var outcome = Outcome()
        let start = ContinuousClock.now
        do {
            try await transfer(&outcome)
        } catch {
            outcome.result = .failure(error)
            outcome.response = outcome.stream?[.httpResponse]
        }
        outcome.time = start.duration(to: .now)
        outcome.stream?.close()
        return outcome
    }

    private func transfer(_ outcome: inout Outcome) async throws {
        let stream = try await open()
        outcome.stream = stream
        let response = try await stream.response()
        outcome.response = response
        if printsHead {
            // An empty line separates the head from the body.
            let end: ShownText = isHead || path != nil ? "\n" : "\n\n"
            Terminal.write("\(head(response))\(end)", to: STDOUT_FILENO)
        }
        if printsHead && !discardsBody && path == nil && isHead { return }
        // Without a body, an existing file stays as it is. Neither does the body of an error replace it.
        let hasBody = response.status != .noContent && response.status != .notModified && !isHead
        if path != nil, !hasBody || response.status.code >= 400, response.status != .rangeNotSatisfiable { return }
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
        if let path {
            if response.status == .rangeNotSatisfiable { return }
            try await copy(stream, to: try OutputFile(path: path, keeping: begin), from: begin, &outcome)
        } else {
            try await copy(stream, to: OutputFile(), from: 0, &outcome)
        }
    }

    private func copy(
        _ stream: ReadStream, to file: consuming OutputFile, from begin: Int64, _ outcome: inout Outcome
    ) async throws {
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        let total = stream[.httpBodyLength].flatMap { length in
            let (sum, isTooLarge) = length.addingReportingOverflow(begin)
            return isTooLarge ? nil : sum
        }
        var progress = showsProgress ? ProgressBar(total: total, offset: begin) : nil
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            if !discardsBody { try file.write(buffer.span.bytes.extracting(..<count)) }
            outcome.count += Int64(count)
            progress?.show(begin + outcome.count)
        }
        progress?.finish(begin + outcome.count)
        try file.finish()
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
    /// - Parameter report: the requests of the transfer.
    func json(url: String, report: LoadReport) -> ShownText {
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
        if case .failure(let error) = result { facts["error"] = JSONOutput.error(error) }
        facts["steps"] = JSONOutput.steps(stream?.report ?? ConnectionReport(report.hops.last?.steps ?? []))
        facts["hops"] = report.facts
        return JSONOutput.line(facts)
    }
}
