#if ServiceLifecycle
public import ServiceLifecycle

/// A browser as a service of swift-service-lifecycle: it passes each change to a closure until the group shuts down.
///
/// ```swift
/// let browser = BrowserService(ServiceBrowser(try ServiceType("_http._tcp"))) { change in
///     print(change.kind, change.value)
/// }
/// try await ServiceGroup(services: [browser], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
public struct BrowserService: Service {
    /// The search.
    public let browser: ServiceBrowser

    private let receive: @Sendable (ServiceBrowser.Element) async -> Void

    /// Makes a service of a search.
    ///
    /// - Parameters:
    ///   - browser: The search, which begins when the service runs.
    ///   - receive: Called with each change, one at a time.
    public init(_ browser: ServiceBrowser, _ receive: @escaping @Sendable (ServiceBrowser.Element) async -> Void) {
        self.browser = browser
        self.receive = receive
    }

    /// Browses until the graceful shutdown of the group.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the search fails or the task is cancelled.
    public func run() async throws {
        let feed = try browser.start()
        try await withGracefulShutdownHandler {
            while let change = try await feed.next() { await receive(change) }
        } onGracefulShutdown: {
            feed.stop()
        }
    }
}
#endif
