internal import Glibc
@_spi(Packages) internal import HTTPMessage

/// A probe of the target's service over a new connection: the proxy's handshake, TLS, and one request without credentials or
/// cookies, of whose answer only the head is read. Redirects are followed within the same origin only, to detect loops.
struct ServiceProbe: Sendable {
    /// The maximum number of redirects within the origin.
    static let maximumRedirects = 10
    /// The maximum number of bytes of an FTP greeting.
    static let maximumGreetingLength = 4096

    /// Ends a probe early, with its outcome.
    struct EarlyEnd: Error {
        var outcome: ServiceOutcome
    }

    let target: DiagnosisTarget
    let options: NetDiagnostic.Options
    let deadline: ContinuousClock.Instant
    /// Whether to accept any certificate, in order to read it. No client certificate is sent then.
    var isInspecting = false

    /// The peer of a TLS handshake.
    enum Peer { case target, proxy }

    func run(at address: SocketAddress) async -> ServiceOutcome {
        guard case .http(var path, let isWhole) = target.service else { return await perform(address, nil) }
        var seen: Set<String> = [path]
        var wantsCookie = false
        for _ in 0..<ServiceProbe.maximumRedirects {
            var outcome = await perform(address, path)
            if mayExpectTLS(outcome), await tryTLS(at: address) { outcome = .expectsTLS }
            guard case .answered(let answer) = outcome, isWhole, [301, 302, 303, 307, 308].contains(answer.status),
                let next = answer.location.flatMap({ ServiceProbe.path(of: $0, within: target) })
            else { return outcome }
            wantsCookie = wantsCookie || answer.setsCookie
            if !seen.insert(next).inserted { return .redirectLoop(to: next, wantsCookie: wantsCookie) }
            path = next
        }
        return .redirectLoop(to: path, wantsCookie: wantsCookie)
    }

    /// Requests a nonexistent page in plain HTTP, which a captive portal answers in place of the server.
    func plainPage(at address: IPAddress, randomLabel: String) async -> ServiceOutcome {
        let plain = ServiceProbe(target: target.inPlainHTTP, options: options, deadline: deadline)
        return await plain.perform(.ip(address, port: 80), "/\(randomLabel)")
    }

    /// Whether the outcome is one of plain HTTP to a port that expects TLS: an end without an answer, an answer that is not HTTP,
    /// or a status 400, with which several servers answer.
    private func mayExpectTLS(_ outcome: ServiceOutcome) -> Bool {
        guard !target.isSecure, target.proxy == nil else { return false }
        switch outcome {
        case .wrongProtocol: return true
        case .answered(let answer): return answer.status == 400
        case .unanswered(let error): return !error.isPOSIX(ETIMEDOUT)
        default: return false
        }
    }

    /// Tries a TLS handshake, with any certificate. Returns whether it succeeds.
    private func tryTLS(at address: SocketAddress) async -> Bool {
        var probe = self
        probe.isInspecting = true
        let pair = StreamPair(addresses: [address], name: target.host)
        defer { pair.close() }
        do throws(EarlyEnd) {
            try await probe.establish(pair, tls: probe.tls(with: .target)) { .tlsFailed($0) }
            return true
        } catch {
            return false
        }
    }

    /// Reads the server's certificate and clock without verifying them.
    func inspection(at address: SocketAddress) async -> Inspection? {
        var probe = self
        probe.isInspecting = true
        guard let (pair, _) = try? await probe.open(address) else { return nil }
        defer { pair.close() }
        guard let certificate = pair[.tlsInformation]?.peerCertificates.first else { return nil }
        var seen = Inspection()
        seen.issuer = certificate.issuer
        seen.validity =
            min(certificate.notBefore, certificate.notAfter)...max(certificate.notBefore, certificate.notAfter)
        seen.ownTime = Int64(time(nil))
        if case .http = target.service, case .answered(let answer) = await probe.request("/", over: pair) {
            seen.serverTime = answer.time
        }
        return seen
    }

    /// The TLS configuration for a peer. Only this function decides which peer receives the client certificate: one that it is
    /// configured for and whose own certificate is verified first.
    func tls(with peer: Peer) -> TLSConfiguration {
        var tls: TLSConfiguration
        switch peer {
        case .target: tls = target.ownTLS ?? options.tls
        case .proxy:
            tls = target.proxyTLS ?? options.tls
            // The identity in the options is for targets only.
            if target.proxyTLS == nil { tls.identity = nil }
        }
        // A diagnosis speaks HTTP/1.1.
        tls.applicationProtocols.removeAll { $0 == "h2" }
        guard isInspecting else { return tls }
        tls.identity = nil
        tls.verification = .insecureNone
        tls.pins = []
        tls.verifier = nil
        return tls
    }

    // MARK: One connection

    private func perform(_ address: SocketAddress, _ path: String?) async -> ServiceOutcome {
        do throws(EarlyEnd) {
            let (pair, first) = try await open(address)
            defer { pair.close() }
            if let path { return await request(path, over: pair) }
            return target.service == .ftp ? await greeting(from: pair.input, after: first) : .connected
        } catch {
            return error.outcome
        }
    }

    /// Opens a connection to the target, through the proxy if there is one. For plain HTTP over an HTTP proxy, the connection
    /// ends at the proxy.
    ///
    /// - Returns: The connection, and the target's bytes that arrived with the proxy's response.
    private func open(_ address: SocketAddress) async throws(EarlyEnd) -> (StreamPair, first: [UInt8]) {
        guard let proxy = target.proxy else {
            let pair = StreamPair(addresses: [address], name: target.host)
            try await establish(pair, tls: target.isSecure ? tls(with: .target) : nil) {
                target.isSecure ? .tlsFailed($0) : .unanswered($0)
            }
            return (pair, [])
        }
        guard let proxyAddress = address.ipAddress, let host = target.host else {
            throw EarlyEnd(outcome: .wrongProtocol)
        }
        if var socks = proxy.socksProxy {
            socks.host = "\(proxyAddress)"
            (socks.user, socks.password) = (nil, nil)
            let pair = StreamPair(host: host, port: target.port)
            try? pair.set(.proxies, to: [ProxyRoute(socks)])
            try? pair.set(.resolver, to: options.resolver)
            try await establish(pair, tls: target.isSecure ? tls(with: .target) : nil) { error in
                if case .tls? = pair.report.failure?.kind { .tlsFailed(error) } else { .proxyFailed(error) }
            }
            return (pair, [])
        }
        let pair = StreamPair(addresses: [address], name: proxy.host)
        try await establish(pair, tls: proxy.kind == .https ? tls(with: .proxy) : nil) { .proxyFailed($0) }
        return try await tunnel(over: pair, to: host)
    }

    /// Opens a pair within the remaining time.
    private func establish(
        _ pair: StreamPair, tls: TLSConfiguration?, _ failed: (StreamError) -> ServiceOutcome
    ) async throws(EarlyEnd) {
        do throws(StreamError) {
            try pair.set(.openTimeout, to: try limit(options.connectionTimeout))
            if let tls { try pair.set(.tls, to: tls) }
            try pair.open()
            try await pair.output.opened()
        } catch {
            let outcome = failed(error)
            pair.close()
            throw EarlyEnd(outcome: outcome)
        }
    }

    /// Requests a tunnel from an HTTP proxy if the target needs one (RFC 9110 §9.3.6), and performs the TLS handshake in it.
    private func tunnel(
        over pair: StreamPair, to host: String
    ) async throws(EarlyEnd) -> (StreamPair, first: [UInt8]) {
        if case .http = target.service, !target.isSecure { return (pair, []) }
        let reply: ServiceOutcome
        var rest: [UInt8] = []
        do throws(StreamError) {
            let hostAndPort = try TunnelTarget(host: host, port: target.port).description
            let text = "CONNECT \(hostAndPort) HTTP/1.1\r\nHost: \(hostAndPort)\r\nUser-Agent: NetKit-diagnosis\r\n\r\n"
            try await pair.output.writeAll(Array(text.utf8))
            reply = try await answer(from: pair.input, rest: &rest)
        } catch {
            reply = .proxyFailed(error)
        }
        switch reply {
        case .answered(let answer) where (200..<300).contains(answer.status): break
        case .answered(let answer): throw closing(pair, .proxyRefused(status: answer.status))
        case .unanswered(let error), .proxyFailed(let error): throw closing(pair, .proxyFailed(error))
        default: throw closing(pair, .proxyFailed(.notHTTPProxy))
        }
        guard target.isSecure else { return (pair, rest) }
        let secured: StreamPair
        do throws(StreamError) {
            secured = try StreamPair(securing: pair, with: tls(with: .target), peerName: host, port: target.port)
        } catch {
            throw closing(pair, .tlsFailed(error))
        }
        try await establish(secured, tls: nil) { .tlsFailed($0) }
        return (secured, [])
    }

    private func closing(_ pair: StreamPair, _ outcome: ServiceOutcome) -> EarlyEnd {
        pair.close()
        return EarlyEnd(outcome: outcome)
    }

    // MARK: The protocol

    private func request(_ path: String, over pair: StreamPair) async -> ServiceOutcome {
        guard let request = ServiceProbe.request(path, of: target) else {
            return .unanswered(.undiagnosable("its path is not valid in an HTTP request."))
        }
        var failure: StreamError?
        do throws(StreamError) { try await pair.output.writeAll(request) } catch { failure = error }
        // A server that closes the connection while the request is written has often sent the reason before (RFC 9112 §9.5; a
        // TLS 1.3 alert).
        do throws(StreamError) {
            var rest: [UInt8] = []
            return try await answer(from: pair.input, rest: &rest)
        } catch {
            return .unanswered(error.tlsFailure == nil ? failure ?? error : error)
        }
    }

    private static func request(_ path: String, of target: DiagnosisTarget) -> [UInt8]? {
        let isAbsolute = !target.isSecure && target.proxy.map { $0.socksProxy == nil } == true
        guard let form = RequestTarget(isAbsolute ? "http://\(target.authority)\(path)" : path),
            var request = try? HTTPRequest(method: .get, target: form)
        else { return nil }
        request.fields = [.accept: "*/*", .connection: "close", .userAgent: "NetKit-diagnosis"]
        guard (try? request.fields.append(target.authority, for: .host)) != nil else { return nil }
        return request.serialized()
    }

    /// Reads the head of the final response. `rest` becomes what arrived behind it.
    private func answer(
        from input: ReadStream, rest: inout [UInt8]
    ) async throws(StreamError) -> ServiceOutcome {
        var parser = FinalHeadParser(leniency: .client)
        var buffer = [UInt8](repeating: 0, count: 4096)
        // One limit for the whole head: a server must not delay it byte by byte, or with interim responses without end.
        let end = min(deadline, .now + options.responseTimeout)
        while true {
            try input.set(.readTimeout, to: try left(until: end))
            let count = try await input.read(into: &buffer)
            guard count > 0 else { return parser.surplus.isEmpty ? .unanswered(.closedByServer) : .wrongProtocol }
            let final: HTTPResponse?
            do throws(HTTPMessageError) { final = try parser.receive(buffer[..<count]) } catch { return .wrongProtocol }
            guard let final else { continue }
            if final.status == .switchingProtocols { return .wrongProtocol }
            rest = parser.surplus
            var answer = ServiceAnswer(final)
            if let limit = target.maximumBodyLength, answer.status == 200 {
                answer.body = try await body(of: final, upTo: limit, from: input, after: rest, until: end)
            }
            return .answered(answer)
        }
    }

    /// Reads the body of a response, up to `limit` bytes and one more. `bytes` is the part that arrived with the head.
    private func body(
        of head: HTTPResponse, upTo limit: Int, from input: ReadStream, after bytes: [UInt8],
        until end: ContinuousClock.Instant
    ) async throws(StreamError) -> [UInt8] {
        var body = try ProbedBody(of: head, upTo: limit)
        if try body.receive(bytes) { return body.bytes }
        while true {
            try input.set(.readTimeout, to: try left(until: end))
            let more = try await input.read(upTo: 65536)
            if try more.isEmpty ? body.receiveEnd() : body.receive(more) { return body.bytes }
        }
    }

    /// Reads an FTP greeting and returns its code (RFC 959 §4.2). `first` has arrived already.
    private func greeting(from input: ReadStream, after first: [UInt8]) async -> ServiceOutcome {
        var bytes = first
        var buffer = [UInt8](repeating: 0, count: 512)
        let end = min(deadline, .now + options.responseTimeout)
        do throws(StreamError) {
            while bytes.count < ServiceProbe.maximumGreetingLength {
                if bytes.count >= 4 {
                    let digits = bytes[..<3].compactMap { (0x30...0x39).contains($0) ? Int($0 - 0x30) : nil }
                    let isReply = digits.count == 3 && [0x20, 0x2D].contains(bytes[3]) && (1...5).contains(digits[0])
                    return isReply ? .greeted(digits.reduce(0) { $0 * 10 + $1 }) : .wrongProtocol
                }
                try input.set(.readTimeout, to: try left(until: end))
                let count = try await input.read(into: &buffer)
                guard count > 0 else { return bytes.isEmpty ? .unanswered(.closedByServer) : .wrongProtocol }
                bytes += buffer[..<count]
            }
            return .wrongProtocol
        } catch {
            return .unanswered(error)
        }
    }

    // MARK: Time

    private func limit(_ limit: Duration) throws(StreamError) -> Duration { min(limit, try left(until: deadline)) }

    private func left(until end: ContinuousClock.Instant) throws(StreamError) -> Duration {
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { throw .timedOut }
        return left
    }
}

extension ServiceProbe {
    /// The request target of a redirect within the origin; nil for a redirect to another origin.
    static func path(of location: String, within target: DiagnosisTarget) -> String? {
        if location.hasPrefix("/"), !location.hasPrefix("//") { return String(location.prefix { $0 != "#" }) }
        let scheme = target.isSecure ? "https://" : "http://"
        guard location.lowercased().hasPrefix(scheme) else { return nil }
        let rest = location.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }.lowercased()
        let own = target.authority.lowercased()
        guard authority == own || authority == own + (target.isSecure ? ":443" : ":80") else { return nil }
        let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
        return path.hasPrefix("/") ? String(path) : "/" + path
    }
}

extension StreamError {
    fileprivate static let closedByServer = StreamError(
        posix: ECONNRESET,
        Sentence("diag.closedByServer", "The server closed the connection without answering."))
}

/// Decodes the body of an HTTP response, up to a limit. Does no I/O.
struct ProbedBody {
    /// The bytes so far, at most one more than the limit, which shows that the body is longer.
    private(set) var bytes: [UInt8] = []
    private let limit: Int
    private var decoder: BodyDecoder

    init(of head: HTTPResponse, upTo limit: Int) throws(StreamError) {
        self.limit = limit
        do throws(HTTPMessageError) {
            decoder = BodyDecoder(try .of(head, to: .get, leniency: .client), leniency: .client)
        } catch {
            throw .brokenBody(error)
        }
    }

    /// Processes the next bytes. Returns true once the body is complete or the limit is exceeded.
    mutating func receive(_ input: [UInt8]) throws(StreamError) -> Bool {
        var position = 0
        do throws(HTTPMessageError) {
            while bytes.count <= limit {
                switch try decoder.next(in: input.span.bytes, at: &position) {
                case .needMore: return false
                case .payload(let range): bytes += input[range].prefix(limit + 1 - bytes.count)
                case .end: return true
                }
            }
            return true
        } catch {
            throw .brokenBody(error)
        }
    }

    /// Processes the end of the connection. Returns true if the body may end this way; throws otherwise.
    mutating func receiveEnd() throws(StreamError) -> Bool {
        do throws(HTTPMessageError) {
            try decoder.receiveEnd()
            return true
        } catch {
            throw .brokenBody(error)
        }
    }
}

extension StreamError {
    fileprivate static func brokenBody(_ error: HTTPMessageError) -> StreamError {
        StreamError(
            posix: EPROTO, Sentence("diag.brokenBody", "The response body is malformed: %1.", "\(error)"),
            underlying: error)
    }
}
