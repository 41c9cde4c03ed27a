public import EventLoops
public import FoundationEssentials
internal import HTTPAuth
public import HTTPMessage
public import StreamKit
internal import Synchronization

extension ReadStream {
    /// Makes a stream that sends a request when opened, and reads the body of the response.
    ///
    /// ```swift
    /// let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
    /// try stream.open()
    /// let response = try await stream.response()
    /// print(response.statusLine)
    /// for try await chunk in stream.chunks() { … }
    /// ```
    ///
    /// `https` enables TLS, with `StreamProperty.tls` if it is set. With an `http` URL, that property applies to redirects to
    /// `https`; unless redirects are followed, opening throws `EINVAL`, since TLS would never be used. The stream adds to the
    /// request only `Host`, `Content-Length` or `Transfer-Encoding`, `Connection`, and `User-Agent` if it has none. A 401 or a
    /// 404 is a response, not an error. `HTTPRequest.body` of the request is sent unless `body` is given.
    ///
    /// An `ftp` URL requires an HTTP proxy that supports FTP. The proxy sees everything, including user and password of the URL,
    /// which are sent as Basic credentials. `ReadStream(ftpURL:)` uses FTP itself.
    ///
    /// All `http…` properties are set before `open()`. Replaces `CFReadStreamCreateForHTTPRequest` and
    /// `CFReadStreamCreateForStreamedHTTPRequest`.
    public convenience init(request: HTTPRequest, body: HTTPBody? = nil, loop: EventLoop = .shared) {
        self.init(transport: HTTPExchange(consume request, body: consume body, loop: loop))
    }

    /// Makes a stream that reads the body of the response to a GET request for a URL.
    ///
    /// - Throws: an error of domain `StreamErrorDomain.http` with code -3 for a URL that cannot be requested.
    public convenience init(httpURL url: URL, loop: EventLoop = .shared) throws(StreamError) {
        _ = try HTTPOrigin(loading: url)
        do throws(HTTPMessageError) {
            self.init(request: try HTTPRequest(method: .get, url: url), loop: loop)
        } catch {
            throw StreamError(error)
        }
    }

    /// Returns the head of the response, waiting for it if necessary.
    ///
    /// - Throws: the error of the load; `StreamError.notOpen` before `open()`.
    public nonisolated(nonsending) func response() async throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try await ready()
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }

    /// Returns the head of the response, blocking the calling thread until it has arrived.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func response() throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try ready()
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }
}

/// A load as the transport of a stream, which reads the body of the response.
///
/// All state is one ``HTTPLoad`` inside a ``LoadWaitPoint``; reading, peeking and closing may happen on different threads.
final class HTTPExchange: StreamTransport {
    private let point: LoadWaitPoint
    private let isClosed = Atomic<Bool>(false)
    var kind: StreamKind { .http }

    init(_ request: consuming HTTPRequest, body: consuming HTTPBody?, loop: EventLoop) {
        if case nil = body, let bytes = request.body { body = .bytes(bytes) }
        point = LoadWaitPoint(consume request, body: consume body, loop: loop)
    }

    deinit { close() }

    /// Replaces the request, and sets what a session adds to it. Has no effect once the stream has been opened.
    ///
    /// - Parameters:
    ///   - pool: the pool of the connections.
    ///   - redirects: the responses that led to the request.
    func send(
        _ request: HTTPRequest, body: HTTPBody?, after redirects: [HTTPResponse], pool: HTTPConnectionPool,
        _ session: SessionSettings
    ) {
        point.withLoad { (load, hasBegun) in
            if hasBegun { return }
            load.send(request, body: body, after: redirects)
            load.settings.pool = pool
            load.settings.session = session
        }
    }

    /// Returns the connection that carries another protocol now, and the bytes of that protocol received so far; nil if the server
    /// has not switched.
    ///
    /// - Throws: the error of the load.
    func takeSwitched() throws(StreamError) -> (pair: StreamPair, received: [UInt8])? {
        // A step, so that the load withdraws its waits from the connection.
        try point.step { (load) throws(StreamError) in .some(load.takeSwitched()) }
    }

    /// The `tls-server-end-point` binding of the connection with the answering proxy, if it uses TLS.
    var proxyBinding: [UInt8]? { point.withLoad { load, _ in load.proxies?.binding } }

    /// The verdict on the credentials for the proxy that refused a tunnel.
    var tunnelVerdict: AuthenticationVerdict? { point.withLoad { load, _ in load.proxies?.verdict } }

    var loop: EventLoop { point.loop }

    var waitPoint: WaitPoint { point }

    var ownsWaitPoint: Bool { true }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try point.step { (load) throws(StreamError) in
            // Open means that transmission has begun; reading waits for the response.
            switch try load.begin() {
            case .done: .opened
            case .blocked(let interest): .wouldBlock(interest)
            case .again: nil
            }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try point.step { (load) throws(StreamError) in
            // On the loop, an edge reports bytes that have arrived since. A caller elsewhere may be polling.
            if load.hasJustSent, !point.loop.isCurrent { load.hasJustSent = false }
            return try load.read(into: &buffer)
        }
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        var failed: (connection: HTTPConnection, error: StreamError)?
        while true {
            var lent: (connection: HTTPConnection, fills: Bool)?
            let attempt = try point.step { (load) throws(StreamError) in
                load.isConnectionLent = false
                let attempt = try load.read(into: &buffer)
                guard case .wouldBlock? = attempt else { return attempt }
                // The wait failed although the connection did not: another wait would fail as well.
                if let failed, load.connection === failed.connection { throw failed.error }
                lent = load.lendConnection()
                return attempt
            }
            guard let lent else { return attempt }
            failed = lent.connection.waitForInput(fills: lent.fills).map { (lent.connection, $0) }
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try point.step { (load) throws(StreamError) in
            if load.isConnectionLent { return .wouldBlock(.readable) }
            load.hasJustSent = false
            return try load.peek()
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() {
        if !isClosed.exchange(true, ordering: .relaxed) { point.end() }
    }
}

// MARK: - Properties

extension HTTPExchange {
    func property(named name: String) -> (any Sendable)? {
        point.withLoad { (load, hasBegun) in
            switch name {
            case StreamProperty<HTTPResponse>.httpResponse.name: load.finalResponse
            case StreamProperty<HTTPResponse>.httpProxyResponse.name: load.tunnelResponse
            case StreamProperty<HTTPProxy>.httpAnsweringProxy.name: load.proxies?.answering
            case StreamProperty<[HTTPResponse]>.httpInterimResponses.name: hasBegun ? load.interim : nil
            case StreamProperty<[HTTPResponse]>.httpRedirects.name: load.fetch.redirects
            case StreamProperty<HTTPFields>.httpTrailers.name: hasBegun ? load.trailers : nil
            case StreamProperty<HTTPFields>.httpDroppedTrailers.name: hasBegun ? load.droppedTrailers : nil
            case StreamProperty<URL>.httpFinalURL.name: load.fetch.url
            case StreamProperty<HTTPRequest>.httpFinalRequest.name: load.finalRequest ?? load.fetch.request
            case StreamProperty<Int64>.httpBodyBytesSent.name: load.bodyBytesSent
            case StreamProperty<Int64>.httpBodyLength.name: load.bodyLength
            case StreamProperty<ConnectionReport>.report.name: load.log.report(load.response, load.fetch)
            case StreamProperty<TLSInformation>.tlsInformation.name: load.tlsInformation
            case StreamProperty<Bool>.urlDemandsTLS.name: load.fetch.url?.scheme?.lowercased() == "https"
            case StreamProperty<[UInt8]>.serverEndPointBinding.name: load.serverEndPointBinding
            default: load.settings.value(named: name)
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try point.withLoad { (load, hasBegun) throws(StreamError) in
            if hasBegun, name != StreamProperty<Duration>.writeTimeout.name { return false }
            return try load.settings.set(value, named: name)
        }
    }
}
