internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// The connections of HTTP/2 in a pool, one for each key.
final class SharedLinks: Sendable {
    /// What must be equal for two requests to share a connection: a connection has the limits of its responses.
    struct Key: Hashable, Sendable {
        let connection: HTTPConnectionKey
        let limits: HTTPLimits
    }

    private struct State: Sendable {
        var links: [Key: HTTP2ClientLink] = [:]
        /// The connections that are being opened and may become links.
        var dials: [Key: HTTPDial] = [:]
        /// The origins that demand HTTP/1.1.
        var demanding = RecentKeys()
        /// The origins that have chosen HTTP/1.1.
        var choosing = RecentKeys()
    }

    /// The keys that were added last.
    private struct RecentKeys: Sendable {
        private static let maximumCount = 64
        private var keys: [HTTPConnectionKey] = []

        func contains(_ key: HTTPConnectionKey) -> Bool { keys.contains(key) }

        mutating func add(_ key: HTTPConnectionKey) {
            keys.removeAll { $0 == key }
            keys.append(key)
            if keys.count > RecentKeys.maximumCount { keys.removeFirst() }
        }
    }

    private let state = Locked(State())

    /// The connection that requests with this key share; nil if there is none that takes further ones.
    func link(_ key: Key) -> HTTP2ClientLink? {
        guard let link = state.withLock({ $0.links[key] }), link.isShareable else { return nil }
        return link
    }

    /// The most connections that ``link(where:)`` looks at. A key finds one of many faster.
    private static let maximumSearch = 16

    /// A connection that `matches`; nil if there is none, if there are many, and if the one found takes no further requests.
    func link(where matches: (HTTP2ClientLink) -> Bool) -> HTTP2ClientLink? {
        let found = state.withLock { state in
            state.links.count <= SharedLinks.maximumSearch ? state.links.values.first(where: matches) : nil
        }
        return found?.isShareable == true ? found : nil
    }

    /// Whether requests can use the connection that is shared with this key, as far as it is the one that was `seen`: a thread that reads holds
    /// the lock of a connection, and must not hold up loads that want another one. A newer connection has just been made.
    private struct Known: Sendable {
        let seen: HTTP2ClientLink?
        let isShareable: Bool

        func link(_ links: [Key: HTTP2ClientLink], _ key: Key) -> HTTP2ClientLink? {
            links[key].flatMap { $0 !== seen || isShareable ? $0 : nil }
        }
    }

    private func known(_ key: Key) -> Known {
        let seen = state.withLock { $0.links[key] }
        return Known(seen: seen, isShareable: seen?.isShareable == true)
    }

    /// Makes an open connection the shared one, unless there is one already, which is returned. Above the limit of all connections, an idle one is closed.
    func share(_ pair: StreamPair, _ key: Key, _ limits: HTTPConnectionPool.Limits) -> HTTP2ClientLink {
        let known = known(key)
        let (made, all) = state.withLock { state in
            if let link = known.link(state.links, key) { return (link, [HTTP2ClientLink]()) }
            let made = HTTP2ClientLink(
                pair, key: key.connection, limits: key.limits, idleTimeout: limits.idle,
                silenceTimeout: limits.silenceTimeout
            ) { [weak self] link in
                self?.remove(link)
            }
            state.links[key] = made
            return (made, Array(state.links.values))
        }
        if all.count > limits.total { all.first { $0 !== made && $0.isIdle }?.drain() }
        return made
    }

    private func remove(_ link: HTTP2ClientLink) {
        let key = Key(connection: link.key, limits: link.limits)
        state.withLock { state in
            if state.links[key] === link { state.links[key] = nil }
        }
    }

    /// The number of connections without requests.
    var idleCount: Int { state.withLock { Array($0.links.values) }.count { $0.isIdle } }

    /// Ends the connections whose keys match, each with its last request.
    func drain(where matches: (HTTPConnectionKey) -> Bool = { _ in true }) {
        let links = state.withLock { state in
            let links = state.links.filter { matches($0.key.connection) }
            for key in links.keys { state.links[key] = nil }
            return links
        }
        for link in links.values { link.drain() }
    }

    func noteHTTP1(_ key: HTTPConnectionKey) { state.withLock { $0.demanding.add(key) } }

    func requiresHTTP1(_ key: HTTPConnectionKey) -> Bool { state.withLock { $0.demanding.contains(key) } }

    // MARK: Dials

    /// What a load gets that has found no connection.
    enum Opening {
        /// A connection that others have opened since.
        case shared(HTTP2ClientLink)
        /// One that another load opens, and that may become one of HTTP/2.
        case awaited(HTTPDial)
        /// One that this load opens. Others wait for the dial.
        case begun(StreamPair, HTTPDial?)
    }

    /// Begins to open a connection, unless there is one with this key by now, or another load opens one. Of loads that begin together, one opens a
    /// connection, since all of this happens in one step.
    ///
    /// - Parameters:
    ///   - waits: whether the load may wait for another one.
    ///   - makePair: makes the streams of a connection.
    ///   - makeLink: as for ``HTTPDial/init(_:makeLink:onEnd:)``.
    func open(
        _ key: Key, waits: Bool, makePair: () -> StreamPair,
        makeLink: @escaping @Sendable (StreamPair) -> HTTP2ClientLink?
    ) throws(StreamError) -> Opening {
        func begin() throws(StreamError) -> StreamPair {
            let pair = makePair()
            try pair.open()
            return pair
        }
        // The server is known to choose HTTP/1.1: nothing is shared.
        if state.withLock({ $0.choosing.contains(key.connection) }) { return .begun(try begin(), nil) }
        let known = known(key)
        return try state.withLock { (state) throws(StreamError) in
            if let link = known.link(state.links, key) { return .shared(link) }
            if let dial = state.dials[key] { return waits ? .awaited(dial) : .begun(try begin(), nil) }
            let pair = try begin()
            let dial = HTTPDial(pair, makeLink: makeLink) { [weak self] outcome in self?.endDial(key, outcome) }
            state.dials[key] = dial
            return .begun(pair, dial)
        }
    }

    private func endDial(_ key: Key, _ outcome: HTTPDial.Outcome) {
        state.withLock { state in
            state.dials[key] = nil
            if case .http1 = outcome { state.choosing.add(key.connection) }
        }
    }
}
