public import EventLoops
public import HostResolver

/// Finds out, when a stream opens, where it leads to: a discovered service, an entry of a registry, the server whose turn it is.
///
/// ```swift
/// let pair = StreamPair(finder: ServerOfTheDay())
/// try pair.open()          // begins to look; reads and writes wait for it
/// ```
///
/// Looking has no time limit of its own; ``StreamProperty/openLimit`` counts for looking and connecting together.
public protocol PlaceFinder: Sendable {
    /// What is looked for, for reports and messages.
    var description: String { get }

    /// Begins to look, and returns at once; `handler` is told, on any thread, of the place or of why there is none.
    ///
    /// It is told once; of a place that is not complete (``FoundPlace/isComplete``), again with all its addresses when there are more.
    ///
    /// - Returns: takes the search back; must not wait. Closing the stream calls it.
    func start(_ handler: @escaping @Sendable (Result<FoundPlace, StreamError>) -> Void) -> LookupToken

    /// Hears that none of the addresses of what it found could be connected to, so that it need not give them again; must not
    /// wait. A handshake of TLS that fails is not told: there somebody answered. By default nothing is done.
    func couldNotConnect(to place: FoundPlace)
}

extension PlaceFinder {
    /// Does nothing.
    public func couldNotConnect(to place: FoundPlace) {}
}

/// Where a stream is to lead to.
public struct FoundPlace: Sendable, Hashable {
    /// The addresses, tried as RFC 8305 says.
    public var addresses: [SocketAddress]
    /// The host's name, for TLS; nil if it has none.
    public var name: String?
    /// False if more addresses may come. If none of those at hand can be connected to, they are waited for, five seconds at most,
    /// and 64 addresses are tried in all.
    public var isComplete: Bool

    /// Names a place.
    public init(addresses: [SocketAddress], name: String?, isComplete: Bool = true) {
        self.addresses = addresses
        self.name = name
        self.isComplete = isComplete
    }
}

extension StreamPair {
    /// A connection to a place that is found at open.
    ///
    /// It is connected to straight, not through a proxy.
    public init(
        finder: some PlaceFinder, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(finder: finder, properties, loop: loop))
    }
}
