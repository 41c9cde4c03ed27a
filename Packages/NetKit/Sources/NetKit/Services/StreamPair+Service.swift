public import EventLoops
public import ServiceDiscovery
public import StreamKit

extension StreamPair {
    /// A TCP connection to a service that was discovered, or that is known by name: where it is, is found out at open.
    ///
    /// ```swift
    /// let printer = try ServiceInstance(name: "Office", type: ServiceType("_ipp._tcp"))
    /// let pair = StreamPair(service: printer)
    /// try pair.open()          // asks for host, port and addresses; reads and writes wait for it
    /// ```
    ///
    /// Finding it has no time limit of its own (a service that is not there does not answer);
    /// `StreamProperty/openLimit`, if it is set, counts for finding and connecting together. The service's host name is the one
    /// that TLS expects. If none of its addresses can be connected to, the engine asks for the service again: one that is gone
    /// goes from all browsers (`ServiceResolver.reconfirm()`). Replaces `CFStreamCreatePairWithSocketToNetService` and `NetService.getInputStream`.
    ///
    /// - Parameters:
    ///   - service: which one. Streams are TCP: one over `_udp` cannot be opened.
    ///   - interface: the only interface looked at; nil for all.
    ///   - engine: who is asked.
    public init(
        service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic,
        properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        let resolver = ServiceResolver(service, interface: interface, engine: engine)
        self.init(finder: ServiceFinder(resolver: resolver), properties: properties, loop: loop)
    }
}
