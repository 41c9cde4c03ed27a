internal import HTTPMessage

/// Talks with the target over a connection of its own: the TLS handshake, then one request without credentials or cookies,
/// of which only the head of the answer is read. Redirects are told, not followed.
struct Talk: Sendable {
    /// Most answers of status 1xx before the final one.
    static let mostInterimResponses = 16

    let target: DiagnosisTarget
    let options: NetDiagnostic.Options

    func run(at address: SocketAddress) async -> TalkOutcome {
        let pair = StreamPair(addresses: [address], name: target.host)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.set(.openLimit, to: options.connectionLimit)
            if target.isSecure { try pair.set(.tls, to: options.tls) }
            try pair.open()
            try await pair.output.opened()
        } catch {
            return target.isSecure ? .insecure(error) : .unanswered(error)
        }
        guard case .http(let path) = target.service else { return .secured }
        do throws(StreamError) {
            guard let request = Talk.request(path, host: target.authority) else {
                return .unanswered(.undiagnosable("its path cannot be requested."))
            }
            try await pair.output.writeAll(request)
            return try await answer(from: pair.input)
        } catch {
            return .unanswered(error)
        }
    }

    private static func request(_ path: String, host: String) -> [UInt8]? {
        guard let target = RequestTarget(path),
            var request = try? HTTPRequest(method: .get, target: target)
        else { return nil }
        request.fields = [.accept: "*/*", .connection: "close", .userAgent: "NetKit-diagnosis"]
        guard (try? request.fields.append(host, for: .host)) != nil else { return nil }
        return request.serialized()
    }

    private func answer(from input: ReadStream) async throws(StreamError) -> TalkOutcome {
        var parser = HeadParser(.response, leniency: .client)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        // One limit for the whole head: a server may not drip it, nor promise an answer for ever.
        let end = ContinuousClock.now + options.answerLimit
        var interim = 0
        while true {
            do throws(HTTPMessageError) {
                while case .complete(let length) = try parser.parse(bytes.span.bytes) {
                    let head = try parser.makeResponse(from: bytes.span.bytes)
                    if head.status.code >= 200 {
                        return .answered(status: head.status.code, location: head.fields[.location])
                    }
                    interim += 1
                    if interim > Talk.mostInterimResponses { return .notHTTP }
                    bytes.removeFirst(length)  // the final answer follows (RFC 9110 §15.2)
                    parser.reset()
                }
            } catch {
                return .notHTTP
            }
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { throw .timedOut }
            try input.set(.readLimit, to: left)
            let count = try await input.read(into: &buffer)
            guard count > 0 else { return bytes.isEmpty ? .unanswered(.closedByServer) : .notHTTP }
            bytes += buffer[..<count]
        }
    }
}

extension DiagnosisTarget {
    /// What the `Host` field says (RFC 9110 §7.2).
    fileprivate var authority: String {
        let host = host ?? ""
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}

extension StreamError {
    fileprivate static let closedByServer = StreamError(
        posix: 104,  // ECONNRESET
        Sentence("diag.closedByServer", "The server closed the connection without an answer."))
}
