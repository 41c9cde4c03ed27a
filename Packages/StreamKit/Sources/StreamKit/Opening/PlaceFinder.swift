public import EventLoops
public import HostResolver

/// Finds the address of a stream when it opens: that of a discovered service, a registry entry, or the next server of a
/// group.
///
/// ```swift
/// let pair = StreamPair(finder: ServerOfTheDay())
/// try pair.open()          // starts the search; reads and writes wait for it
/// ```
///
/// A search has no time limit of its own. ``StreamProperty/openLimit`` covers searching and connecting together.
public protocol PlaceFinder: Sendable {
    /// What is searched for, for reports and messages.
    var description: String { get }

    /// Starts the search and returns at once. `handler` receives the result, on any thread.
    ///
    /// It is called once. After a place that is not complete (``FoundPlace/isComplete``), it is called again, with all
    /// addresses, whenever there are more.
    ///
    /// - Returns: cancels the search; must not wait. Called when the stream is closed.
    func start(_ handler: @escaping @Sendable (Result<FoundPlace, StreamError>) -> Void) -> LookupToken

    /// Called if none of the addresses of a place could be connected to, so that the finder need not return them again.
    /// Must not wait. Not called if a TLS handshake fails, since a server answered there. By default it does nothing.
    func couldNotConnect(to place: FoundPlace)
}

extension PlaceFinder {
    /// Does nothing.
    public func couldNotConnect(to place: FoundPlace) {}
}

/// The addresses and the name of the server that a stream connects to.
public struct FoundPlace: Sendable, Hashable {
    /// The addresses, tried as RFC 8305 describes.
    public var addresses: [SocketAddress]
    /// The host name, for TLS; nil if the server has none.
    public var name: String?
    /// False if more addresses may follow. If none of the present ones can be connected to, the stream waits for more,
    /// for at most five seconds, and tries at most 64 addresses in all.
    public var isComplete: Bool

    /// Makes a place from its addresses.
    public init(addresses: [SocketAddress], name: String?, isComplete: Bool = true) {
        self.addresses = addresses
        self.name = name
        self.isComplete = isComplete
    }
}

extension StreamPair {
    /// Makes a connection whose addresses `finder` finds when it opens. It is direct and never uses a proxy.
    public init(
        finder: some PlaceFinder, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(finder: finder, properties, loop: loop))
    }
}
