public import EventLoops
public import FoundationEssentials
public import HTTPMessage
@_spi(Packages) public import StreamKit

extension ReadStream {
    /// Makes a stream that sends a request when opened, and reads the body of the response.
    ///
    /// ```swift
    /// let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
    /// try stream.open()
    /// let response = try await stream.response()
    /// print(response.statusLine)
    /// for try await chunk in stream.chunks() { print(chunk.count, "bytes") }
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
    /// Each stream has a connection of its own by default. Streams that share a pool use one another's connections:
    ///
    /// ```swift
    /// let pool = HTTPConnectionPool()
    /// for url in urls {
    ///     let stream = ReadStream(request: try HTTPRequest(method: .get, url: url), pool: pool)
    ///     try stream.open()
    ///     for try await chunk in stream.chunks() { print(chunk.count, "bytes") }
    /// }
    /// ```
    ///
    /// Replaces `CFReadStreamCreateForHTTPRequest` and
    /// `CFReadStreamCreateForStreamedHTTPRequest`.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - body: the body, in place of that of the request; nil for the request's own.
    ///   - pool: the pool from which an idle connection is taken, and to which the connection returns after the body. Sets
    ///     ``HTTPOptions/pool`` and ``HTTPOptions/keepsConnection``. Nil (default) for a connection of its own.
    ///   - loop: the event loop of the stream and its connection.
    public convenience init(
        request: HTTPRequest, body: HTTPBody? = nil, pool: HTTPConnectionPool? = nil, loop: EventLoop = .shared
    ) {
        self.init(
            transport: LoadTransport(consume request, body: consume body, LoadSettings(pool: pool), loop: loop))
    }

    /// Makes a stream that sends a request with these options when opened, and reads the body of the response.
    ///
    /// Otherwise as ``init(request:body:pool:loop:)``.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - body: the body, in place of that of the request; nil for the request's own.
    ///   - options: the options of the load.
    ///   - loop: the event loop of the stream and its connection.
    /// - Throws: `EINVAL` for an option that has an invalid value, and for a property in ``HTTPOptions/connection`` that the stream does
    ///   not honour.
    public convenience init(
        request: HTTPRequest, body: HTTPBody? = nil, options: HTTPOptions, loop: EventLoop = .shared
    ) throws(StreamError) {
        let (settings, others) = try LoadSettings.checked(options)
        self.init(transport: LoadTransport(consume request, body: consume body, settings, loop: loop))
        try set(others)
    }

    /// Makes a stream and its transport, whose body is set later.
    static func loading(
        _ request: HTTPRequest, _ options: HTTPOptions, loop: EventLoop
    ) throws(StreamError) -> (ReadStream, LoadTransport) {
        let (settings, others) = try LoadSettings.checked(options)
        let transport = LoadTransport(request, body: nil, settings, loop: loop)
        let stream = ReadStream(transport: transport)
        try stream.set(others)
        return (stream, transport)
    }

    /// Makes a stream that reads the body of the response to a GET request for a URL.
    ///
    /// - Parameters:
    ///   - url: the URL, with the scheme `http` or `https`.
    ///   - pool: the pool of the connection, as for ``init(request:body:pool:loop:)``.
    ///   - loop: the event loop of the stream and its connection.
    /// - Throws: an error of domain `StreamErrorDomain.http` with code -3 for a URL that cannot be requested.
    public convenience init(
        httpURL url: URL, pool: HTTPConnectionPool? = nil, loop: EventLoop = .shared
    ) throws(StreamError) {
        _ = try HTTPOrigin(loading: url)
        self.init(request: try .get(url), pool: pool, loop: loop)
    }

    /// Returns the head of the response, waiting for it if necessary, but not for the body.
    ///
    /// - Throws: the error of the load; `StreamError.notOpen` before `open()`.
    public nonisolated(nonsending) func response() async throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try await ready(or: { self[.httpResponse] != nil })
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }

    /// Returns the head of the response, blocking the calling thread until it has arrived.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func response() throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try ready(or: { self[.httpResponse] != nil })
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }
}

extension HTTPRequest {
    /// Makes a GET request of a URL.
    ///
    /// - Throws: the `HTTPMessageError` as a `StreamError`.
    static func get(_ url: URL) throws(StreamError) -> HTTPRequest {
        do throws(HTTPMessageError) {
            return try HTTPRequest(method: .get, url: url)
        } catch {
            throw StreamError(error)
        }
    }
}
