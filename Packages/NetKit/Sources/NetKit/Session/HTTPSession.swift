public import EventLoops
internal import HTTPAuth
public import HTTPMessage
public import StreamKit

/// Requests with all that goes round them: authentication, credentials that are found or asked for, redirects, connections
/// that are kept.
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// configuration.prompt = { question in
///     print(question.text)                    // http://example.org:80 requires a user name and a password …
///     return .init(user: "joe", password: readPassword())
/// }
/// let session = HTTPSession(configuration)
/// let stream = try await session.open(HTTPRequest(method: .get, url: url))
/// for try await chunk in stream.chunks() { … }
/// ```
///
/// Each load goes the way of the guide's figures 4-1 and 4-2: the request is sent; a 401 of the server or a 407 of a proxy
/// makes an `HTTPAuthentication` object, or finds the one that this session has for the place; credentials come from the
/// URL (of the server, or of the proxy), from ``Configuration/stores``, or from ``Configuration/prompt``; the request is sent
/// again, until it is answered with something else, or nobody has another credential. Then the answer is what server or
/// proxy said last. Both may ask at once, and proxies may stand behind each other.
///
/// Nothing is sent before a challenge of the same server or proxy, and nothing to another, whatever redirects say and
/// whichever proxy takes the place of a dead one. A connection that was authenticated as a whole (NTLM, Negotiate) is used for
/// its own user only, and so is a tunnel. Where there is TLS, those schemes are bound to it (RFC 5929); their first leg
/// carries no body, and begins anew if the connection is closed before the next.
///
/// A proxy that refuses a tunnel is heard: the answer is its 407, and `StreamProperty.httpProxyResponse` has its body.
public final class HTTPSession: Sendable {
    /// How loads are made.
    public let configuration: Configuration

    let loop: EventLoop
    private let known = Locked<[KnownAuthentication]>([])
    /// The forms of the logins so far: none becomes weaker unless the user agrees.
    let memory = AuthenticationMemory()
    /// What proxies may get before they ask.
    let proxyRules: ProxyLogins.Rules
    /// Lets one load at a time deal with a challenge, so that several that meet the same one ask once.
    let turnstile = Turnstile()

    /// Makes a session.
    public init(_ configuration: Configuration = Configuration(), loop: EventLoop = .shared) {
        self.configuration = configuration
        self.loop = loop
        proxyRules = ProxyLogins.Rules(configuration.policy(for: .proxy), memory)
    }

    /// Sends a request and returns the stream of the final answer, whose head has come: see `StreamProperty.httpResponse`.
    /// Read the stream to its end, or close it.
    ///
    /// - Parameters:
    ///   - request: An own `Authorization` is sent as it is, and switches authentication with the server off; an own
    ///     `Proxy-Authorization` does so for proxies.
    ///   - body: What is sent besides the head. One that can be read once only is sent once the server agrees
    ///     (`100-continue`), since it cannot be sent again.
    ///
    /// - Throws: what the load failed with. An answer of 401 is no failure: nobody had a credential, or the user was asked
    ///   and gave none.
    public func open(_ request: HTTPRequest, body: HTTPBody? = nil) async throws(StreamError) -> ReadStream {
        var load = try SessionLoad(request, body: body, session: self)
        return try await load.run()
    }

    /// Sends a request and reads the whole answer.
    ///
    /// - Parameters:
    ///   - request: As for ``open(_:body:)``.
    ///   - body: What is sent besides the head.
    ///   - limit: The most bytes that the body of the answer may have; more is an error. ``Configuration/readLimit`` and
    ///     ``Configuration/bodyLimit`` bound the time.
    public func load(
        _ request: HTTPRequest, body: HTTPBody? = nil, limit: Int = 16 << 20
    ) async throws(StreamError) -> HTTPResponse {
        let stream = try await open(request, body: body)
        defer { stream.close() }
        var response = try await stream.response()
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        let end = Moment.now + configuration.bodyLimit
        let readLimit = stream[.readLimit] ?? configuration.readLimit
        while true {
            let left = Moment.now.duration(to: end)
            guard left > .zero else { throw .timedOut("receiving the body", after: configuration.bodyLimit) }
            try stream.set(.readLimit, to: min(left, readLimit))
            let count = try await stream.read(into: &piece)
            if count == 0 { break }
            guard bytes.count + count <= limit else { throw .bodyTooLong(limit) }
            bytes += piece[..<count]
        }
        response.body = bytes
        return response
    }

    /// Forgets every credential, all that was negotiated with them and what the user agreed to, and closes the idle connections that they belong to.
    /// What ``Configuration/stores`` hold stays there.
    public func forgetCredentials() {
        let dropped = known.withLock { known in
            defer { known = [] }
            return known
        }
        dropped.forEach(close)
        memory.forget()
    }
}

extension HTTPSession {
    /// What this session knows that is good for a request to its origin, claimed for its load.
    ///
    /// - Parameter login: The user, and maybe password, of the caller's URL: no other user's login will do.
    func find(
        _ request: HTTPRequest, of login: SessionLoad.URLLogin?, for claim: LoginClaim
    ) -> KnownAuthentication? {
        known.withLock {
            $0.last {
                $0.place.role == .origin && $0.authentication.isValid && $0.isOf(login)
                    && $0.authentication.appliesTo(request) && $0.claim(for: claim)
            }
        }
    }

    /// What this session knows for proxies, one for each, claimed for a load. For tunnels a connection of one's own is not
    /// needed.
    func findProxies(forTunnels: Bool, for claim: LoginClaim) -> [KnownAuthentication] {
        known.withLock { known in
            var found: [KnownAuthentication] = []
            for entry in known.reversed() where entry.place.role == .proxy {
                guard entry.authentication.isValid, !found.contains(where: { $0.place == entry.place }),
                    forTunnels || entry.claim(for: claim)
                else { continue }
                found.append(entry)
            }
            return found
        }
    }

    /// What was learned for the same place and realm while others waited.
    func find(
        like authentication: HTTPAuthentication, of login: SessionLoad.URLLogin?, besides old: KnownAuthentication?
    ) -> KnownAuthentication? {
        known.withLock { known in
            known.last {
                $0 !== old && $0.isOf(login) && $0.authentication.isValid && !$0.authentication.isConnectionBound
                    && $0.authentication.space == authentication.space
            }
        }
    }

    /// The credential with which somebody else's connection to the same place is authenticated.
    func credential(like authentication: HTTPAuthentication, of login: SessionLoad.URLLogin?) -> Credential? {
        known.withLock { known in
            known.last {
                $0.authentication.isValid && $0.credential?.space == authentication.space && $0.isOf(login)
            }?.credential
        }
    }

    /// Publishes a login, claimed for the load that made it.
    func remember(_ entry: KnownAuthentication, for claim: LoginClaim) {
        _ = entry.claim(for: claim)
        known.withLock { known in
            known.append(entry)
            // A server that makes up realms must not make this grow for ever.
            if known.count > Self.knownLimit { known.removeFirst() }
        }
    }

    func forget(_ entry: KnownAuthentication) {
        known.withLock { $0.removeAll { $0 === entry } }
        close(entry)
    }

    /// Closes the idle connections that were made with an entry's credential.
    private func close(_ entry: KnownAuthentication) {
        entry.pool?.drain()
        if entry.place.role == .proxy { configuration.pool.drop(of: entry) }
    }

    /// How many places and realms one session keeps authentication for; the oldest goes first.
    static let knownLimit = 256
}
