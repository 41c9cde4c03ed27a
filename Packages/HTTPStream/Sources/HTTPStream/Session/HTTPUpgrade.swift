public import HTTPMessage
public import StreamKit

/// The server's response to an offer to switch to another protocol.
public enum HTTPUpgrade: Sendable {
    /// The server has switched: its response (101, or a 2xx over HTTP/2), and the connection.
    case switched(HTTPResponse, HTTPUpgradedConnection)
    /// The server has declined, and has responded as it would have without the offer. Read the stream to its end, or close it.
    case declined(HTTPResponse, ReadStream)
}

extension HTTPSession {
    /// Sends a request that offers to switch its connection to another protocol (RFC 9110 §7.8).
    ///
    /// ```swift
    /// switch try await session.upgrade(request, to: "websocket") {
    /// case .switched(_, let connection): try await connection.pair.output.writeAll(frame)
    /// case .declined(let response, let stream): print(response.status); stream.close()
    /// }
    /// ```
    ///
    /// Redirects, cookies and logins are as for ``open(_:body:within:)``. Proxies establish tunnels, for `http` as well. The
    /// request is not sent again after a failure (``Configuration/retries``).
    ///
    /// If ``HTTPOptions/versions`` permit HTTP/2, and the session has a connection of HTTP/2 to the server that accepts it, the request is an
    /// extended CONNECT, and a stream of that connection carries the other protocol (RFC 8441). With ``HTTPVersions/http2``, a connection is
    /// opened if there is none, and a server that does not accept it is an error.
    ///
    /// - Parameters:
    ///   - request: The request, without a body. `Connection` and `Upgrade` are added.
    ///   - protocolName: The name of the protocol, such as `websocket`.
    ///   - followsRedirects: Whether redirects are followed. Without them, or if ``HTTPOptions/followsRedirects`` is false, a redirect is a
    ///     response that declines. For `websocket`, the schemes `ws` and `wss` of a redirect mean `http` and `https`.
    ///   - timeout: The time limit until the response; nil for ``HTTPOptions/totalTimeout``.
    /// - Throws: The error of the load; an error of domain `StreamErrorDomain.http` if the server switches to a protocol that was
    ///   not offered.
    public func upgrade(
        _ request: HTTPRequest, to protocolName: String, followsRedirects: Bool = true, within timeout: Duration? = nil
    ) async throws(StreamError) -> HTTPUpgrade {
        var request = request
        do throws(HTTPMessageError) {
            try request.fields.set(protocolName, for: .upgrade)
        } catch {
            throw StreamError(error)
        }
        var options = LoadOptions(
            timeout: timeout ?? configuration.effectiveTimeout, upgrade: protocolName, time: configuration.time)
        options.followsRedirects = followsRedirects
        #if Metrics || Tracing
        return try await observing(request, options) { (request, options) throws(StreamError) in
            try await switchProtocols(request, options)
        }
        #else
        return try await switchProtocols(request, options)
        #endif
    }

    private func switchProtocols(
        _ request: HTTPRequest, _ options: LoadOptions
    ) async throws(StreamError) -> HTTPUpgrade {
        var load = try SessionLoad(request, body: nil, session: self, options)
        let stream = try await load.run()
        let response = try await stream.response()
        guard let (pair, received) = load.switched else { return .declined(response, stream) }
        stream.close()
        return .switched(response, HTTPUpgradedConnection(pair: pair, received: received))
    }
}
