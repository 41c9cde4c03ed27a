internal import FoundationEssentials
internal import Glibc
@_spi(Packages) internal import HTTPMessage

/// A probe of the target's service over a new connection: the proxy's handshake, TLS, and one request without credentials or
/// cookies, of whose answer only the head is read. Redirects are followed within the same origin only, to detect loops.
struct ServiceProbe: Sendable {
    /// The maximum number of redirects within the origin.
    static let maximumRedirects = 10
    /// The maximum number of bytes of an FTP greeting.
    static let maximumGreetingLength = 4096
    /// The value of the `User-Agent` field.
    static let userAgent: StaticString = "NetKit-diagnosis"

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
                let next = answer.location.flatMap({ ServiceProbe.path(of: $0, from: path, within: target) })
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
        guard let pair = try? await probe.open(address) else { return nil }
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
            let pair = try await open(address)
            defer { pair.close() }
            if let path { return await request(path, over: pair) }
            return target.service == .ftp ? await greeting(from: pair.input) : .connected
        } catch {
            return error.outcome
        }
    }

    /// Opens a connection to the target, through the proxy if there is one. For plain HTTP over an HTTP proxy, the connection
    /// ends at the proxy.
    private func open(_ address: SocketAddress) async throws(EarlyEnd) -> StreamPair {
        let targetTLS = target.isSecure ? tls(with: .target) : nil
        guard let proxy = target.proxy else {
            let pair = StreamPair(addresses: [address], name: target.host)
            try await establish(pair, tls: targetTLS) { target.isSecure ? .tlsFailed($0) : .unanswered($0) }
            return pair
        }
        let proxyTLS = proxy.kind == .https ? tls(with: .proxy) : nil
        if sendsRequestToProxy {
            let pair = StreamPair(addresses: [address], name: proxy.host)
            try await establish(pair, tls: proxyTLS) { .proxyFailed($0) }
            return pair
        }
        guard let proxyAddress = address.ipAddress, let host = target.host else {
            throw EarlyEnd(outcome: .wrongProtocol)
        }
        var hop: any StreamProxy = ProbedProxy(proxy, at: proxyAddress, tls: proxyTLS)
        if var socks = proxy.socksProxy {
            socks.host = "\(proxyAddress)"
            (socks.user, socks.password) = (nil, nil)
            hop = socks
        }
        let pair = StreamPair(host: host, port: target.port)
        try? pair.set(.proxies, to: [ProxyRoute(hop)])
        try? pair.set(.resolver, to: options.resolver)
        // The connection to the proxy, its answer, which takes as long as that of a server, and the handshake with the target.
        let limit = options.connectionTimeout + options.responseTimeout + options.connectionTimeout
        try await establish(pair, tls: targetTLS, within: limit) { error in
            if let refusal = error.underlying as? ProbedRefusal { return .proxyRefused(status: refusal.status) }
            return pair.report.isThroughProxy ? .tlsFailed(error) : .proxyFailed(error)
        }
        return pair
    }

    /// Whether the request is sent to the proxy itself, in absolute form (RFC 9112 §3.2.2).
    private var sendsRequestToProxy: Bool {
        guard let proxy = target.proxy, proxy.socksProxy == nil, case .http = target.service else { return false }
        return !target.isSecure
    }

    /// Opens a pair within the remaining time.
    ///
    /// - Parameter longest: the maximum duration; nil for that of a connection.
    private func establish(
        _ pair: StreamPair, tls: TLSConfiguration?, within longest: Duration? = nil,
        _ failed: (StreamError) -> ServiceOutcome
    ) async throws(EarlyEnd) {
        do throws(StreamError) {
            let left = try left(until: deadline)
            try pair.set(.openTimeout, to: min(longest ?? options.connectionTimeout, left))
            if let tls { try pair.set(.tls, to: tls) }
            try pair.open()
            try await pair.output.opened()
        } catch {
            let outcome = failed(error)
            pair.close()
            throw EarlyEnd(outcome: outcome)
        }
    }

    // MARK: The protocol

    private func request(_ path: String, over pair: StreamPair) async -> ServiceOutcome {
        guard let request = message(path) else {
            return .unanswered(.undiagnosable("its path is not valid in an HTTP request."))
        }
        var failure: StreamError?
        do throws(StreamError) { try await pair.output.writeAll(request) } catch { failure = error }
        // A server that closes the connection while the request is written has often sent the reason before (RFC 9112 §9.5; a
        // TLS 1.3 alert).
        do throws(StreamError) {
            return try await answer(from: pair.input)
        } catch {
            return .unanswered(error.tlsFailure == nil ? failure ?? error : error)
        }
    }

    private func message(_ path: String) -> [UInt8]? {
        guard let form = RequestTarget(sendsRequestToProxy ? "http://\(target.authority)\(path)" : path),
            var request = try? HTTPRequest(method: .get, target: form)
        else { return nil }
        request.fields = [.accept: "*/*", .connection: "close", .userAgent: ServiceProbe.userAgent]
        guard (try? request.fields.append(target.authority, for: .host)) != nil else { return nil }
        return request.serialized()
    }

    /// Reads the final response: its head, and the body if the target has a ``DiagnosisTarget/maximumBodyLength``.
    private func answer(from input: ReadStream) async throws(StreamError) -> ServiceOutcome {
        var parser = FinalHeadParser(leniency: .client)
        // One limit for the whole answer: a server must not delay it byte by byte, or with interim responses without end.
        let end = min(deadline, .now + options.responseTimeout)
        while true {
            let bytes = try await read(from: input, until: end)
            guard !bytes.isEmpty else { return parser.surplus.isEmpty ? .unanswered(.closedByServer) : .wrongProtocol }
            let final: HTTPResponse?
            do throws(HTTPMessageError) { final = try parser.receive(bytes) } catch { return .wrongProtocol }
            guard let final else { continue }
            if final.status == .switchingProtocols { return .wrongProtocol }
            var answer = ServiceAnswer(final)
            if let limit = target.maximumBodyLength, answer.status == 200 {
                answer.body = try await body(of: final, upTo: limit, from: input, after: parser.surplus, until: end)
            }
            return .answered(answer)
        }
    }

    /// Reads the body of a response, up to `limit` bytes and one more, which shows that the body is longer. `bytes` is the part that arrived
    /// with the head.
    private func body(
        of head: HTTPResponse, upTo limit: Int, from input: ReadStream, after bytes: [UInt8],
        until end: ContinuousClock.Instant
    ) async throws(StreamError) -> [UInt8] {
        var body = try decoding { () throws(HTTPMessageError) in
            var body = try BodyBeginning(of: head, to: .get, upTo: limit + 1)
            try body.receive(bytes)
            return body
        }
        while !body.isComplete {
            let bytes = try await read(from: input, until: end)
            try decoding { () throws(HTTPMessageError) in
                if bytes.isEmpty { try body.receiveEnd() } else { try body.receive(bytes) }
            }
        }
        return body.bytes
    }

    private func decoding<Value>(_ decode: () throws(HTTPMessageError) -> Value) throws(StreamError) -> Value {
        do throws(HTTPMessageError) {
            return try decode()
        } catch {
            throw StreamError(
                posix: EPROTO, Sentence("diag.brokenBody", "The response body is malformed: %1.", "\(error)"),
                underlying: error)
        }
    }

    /// Reads an FTP greeting and returns its code (RFC 959 §4.2).
    private func greeting(from input: ReadStream) async -> ServiceOutcome {
        var bytes: [UInt8] = []
        let end = min(deadline, .now + options.responseTimeout)
        do throws(StreamError) {
            while bytes.count < ServiceProbe.maximumGreetingLength {
                if bytes.count >= 4 {
                    let digits = bytes[..<3].compactMap { (0x30...0x39).contains($0) ? Int($0 - 0x30) : nil }
                    let isReply = digits.count == 3 && [0x20, 0x2D].contains(bytes[3]) && (1...5).contains(digits[0])
                    return isReply ? .greeted(digits.reduce(0) { $0 * 10 + $1 }) : .wrongProtocol
                }
                let more = try await read(from: input, until: end)
                guard !more.isEmpty else { return bytes.isEmpty ? .unanswered(.closedByServer) : .wrongProtocol }
                bytes += more
            }
            return .wrongProtocol
        } catch {
            return .unanswered(error)
        }
    }

    /// Reads the next bytes; none at the end of the stream.
    private func read(from input: ReadStream, until end: ContinuousClock.Instant) async throws(StreamError) -> [UInt8] {
        try input.set(.readTimeout, to: try left(until: end))
        return try await input.read(upTo: 4096)
    }

    private func left(until end: ContinuousClock.Instant) throws(StreamError) -> Duration {
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { throw .timedOut }
        return left
    }
}

extension ServiceProbe {
    /// The request target of a redirect within the origin; nil for a redirect to another origin.
    ///
    /// - Parameter path: the request target that was answered with the redirect.
    static func path(of location: String, from path: String, within target: DiagnosisTarget) -> String? {
        guard let base = URL(string: path, relativeTo: target.url)?.absoluteURL,
            let url = URL(string: location, relativeTo: base)?.absoluteURL,
            let next = try? DiagnosisTarget(url), next.isSecure == target.isSecure,
            next.authority.lowercased().utf8.elementsEqual(target.authority.lowercased().utf8)
        else { return nil }
        return url.requestPath
    }
}

extension ConnectionReport {
    /// Whether a proxy has connected to the target.
    fileprivate var isThroughProxy: Bool {
        steps.contains {
            if case .proxy = $0.kind, case .succeeded = $0.outcome { true } else { false }
        }
    }
}

extension StreamError {
    static let closedByServer = StreamError(
        posix: ECONNRESET,
        Sentence("diag.closedByServer", "The server closed the connection without answering."))
}
