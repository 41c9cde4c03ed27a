import Foundation
import NetKit

/// One load of `netkit get`: reads the body and puts it where it belongs.
struct Load: Sendable {
    /// Why it failed: on the network, or at the local file.
    enum Failure: Error {
        case stream(StreamError)
        case file(OutputFile.Failure)
    }

    /// What came of it.
    struct Outcome: Sendable {
        var response: HTTPResponse?
        var count: Int64 = 0
        var time: Duration = .zero
        var result: Result<Void, Failure> = .success(())
        /// What was read: of a session the stream of the last answer, if there was one.
        var stream: ReadStream?

        var status: Int { response?.status.code ?? 0 }
    }

    /// Opens the stream that is read.
    let open: @Sendable () async throws(StreamError) -> ReadStream
    /// What `open` tries: of a failure nothing else is left that could tell the steps.
    let tried: LastStream
    let path: String?
    /// How much of the file is there already.
    let offset: Int64
    let printsHead: Bool
    let discardsBody: Bool
    let showsProgress: Bool

    func run() async -> Outcome {
        var outcome = Outcome()
        let start = ContinuousClock.now
        do throws(Failure) {
            try await transfer(&outcome)
        } catch {
            outcome.result = .failure(error)
            outcome.response = outcome.stream?[.httpResponse]
        }
        outcome.time = start.duration(to: .now)
        outcome.stream?.close()
        return outcome
    }

    private func transfer(_ outcome: inout Outcome) async throws(Failure) {
        let stream: ReadStream
        let response: HTTPResponse
        do throws(StreamError) {
            stream = try await open()
            outcome.stream = stream
            response = try await stream.response()
        } catch {
            throw .stream(error)
        }
        outcome.response = response
        if printsHead { Terminal.write("\(head(response))\n", to: 1) }
        if printsHead && !discardsBody && path == nil { return }
        if response.status.code == 416, offset > 0, isComplete(response) {
            outcome.response = stream[.httpResponse]
            Terminal.say("netkit: \(path ?? "") is complete already.")
            outcome.response = nil
            return
        }
        // A server that does not know ranges sends everything: then the file begins anew.
        let begin = response.status.code == 206 && begins(response, at: offset) ? offset : 0
        let isWanted = response.status.code < 400
        do {
            if let path, isWanted {
                try await copy(stream, to: try OutputFile(path: path, keeping: begin), from: begin, &outcome)
            } else {
                try await copy(stream, to: OutputFile(), from: 0, &outcome)
            }
        } catch let error as StreamError {
            throw .stream(error)
        } catch let error as OutputFile.Failure {
            throw .file(error)
        } catch {
            throw .file(OutputFile.Failure(description: "\(error)"))
        }
    }

    private func copy(
        _ stream: ReadStream, to file: consuming OutputFile, from begin: Int64, _ outcome: inout Outcome
    ) async throws {
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        let total = stream[.httpBodyLength].map { $0 + begin }
        var progress = showsProgress ? ProgressBar(total: total, offset: begin) : nil
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            if !discardsBody { try file.write(buffer.span.bytes.extracting(..<count)) }
            outcome.count += Int64(count)
            progress?.show(begin + outcome.count)
        }
        progress?.finish(begin + outcome.count)
    }

    /// The head as it came, without control characters and proofs of passwords.
    private func head(_ response: HTTPResponse) -> ShownText {
        var response = response
        for field in response.fields {
            let shown = Terminal.shownField(field.name.description, field.value)
            if shown != field.value { try? response.fields.set(shown, for: field.name) }
        }
        return ShownText(lines: response.description)
    }

    /// `Content-Range: bytes */N` says how long the whole is (RFC 9110 §15.5.17).
    private func isComplete(_ response: HTTPResponse) -> Bool {
        response.fields[.contentRange] == "bytes */\(offset)"
    }

    private func begins(_ response: HTTPResponse, at offset: Int64) -> Bool {
        response.fields[.contentRange]?.hasPrefix("bytes \(offset)-") == true
    }
}

extension Load.Outcome {
    /// The load as one JSON object; `report` is for a load that never got a stream.
    func json(url: String, report: ConnectionReport?) -> ShownText {
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
        switch result {
        case .success: break
        case .failure(.stream(let error)): facts["error"] = JSONOutput.error(error)
        case .failure(.file(let failure)): facts["error"] = JSONOutput.error(failure)
        }
        facts["steps"] = JSONOutput.steps(stream?.report ?? report ?? ConnectionReport())
        return JSONOutput.line(facts)
    }
}

/// The last stream that a session made.
final class LastStream: Sendable {
    private let last = Locked<ReadStream?>(nil)

    var stream: ReadStream? { last.withLock { $0 } }

    func set(_ stream: ReadStream) {
        last.withLock { $0 = stream }
    }
}
