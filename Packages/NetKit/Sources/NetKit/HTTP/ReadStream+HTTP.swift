public import EventLoops
public import FoundationEssentials
public import HTTPMessage
public import StreamKit

extension ReadStream {
    /// A stream that sends a request when opened, and gives the body of the answer.
    ///
    /// ```swift
    /// let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
    /// try stream.open()
    /// let response = try await stream.response()
    /// print(response.statusLine)
    /// for try await chunk in stream.chunks() { … }
    /// ```
    ///
    /// `https` turns TLS on, with `StreamProperty.tls` if it is set. With an `http` URL, that property is for the redirects to
    /// `https`; unless redirects are followed, opening throws `EINVAL`, since TLS would never be used. Added to the request are `Host`,
    /// `Content-Length` or `Transfer-Encoding`, `Connection`, and `User-Agent` if it has none; nothing else. A 401 or a 404
    /// is an answer, not an error. The request's own `HTTPRequest.body` is sent unless `body` is given.
    ///
    /// An `ftp` URL can be fetched this way from an HTTP proxy that does FTP, and from nobody else: the proxy sees everything,
    /// user and password of the URL too, which are sent as Basic credentials. `ReadStream(ftpURL:)` speaks FTP itself.
    ///
    /// All `http…` properties are set before `open()`. Replaces `CFReadStreamCreateForHTTPRequest` and
    /// `CFReadStreamCreateForStreamedHTTPRequest`.
    public convenience init(request: HTTPRequest, body: HTTPBody? = nil, loop: EventLoop = .shared) {
        self.init(transport: HTTPExchange(consume request, body: consume body, loop: loop))
    }

    /// A stream of what a URL leads to, by GET.
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

    /// Waits for the head of the answer.
    ///
    /// - Throws: why there is none, and `StreamError.notOpen` before `open()`.
    public nonisolated(nonsending) func response() async throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try await ready()
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }

    /// Waits on the calling thread for the head of the answer.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func response() throws(StreamError) -> HTTPResponse {
        if let response = self[.httpResponse] { return response }
        try ready()
        guard let response = self[.httpResponse] else { throw error ?? .closed }
        return response
    }
}
