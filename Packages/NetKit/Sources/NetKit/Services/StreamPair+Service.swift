public import EventLoops
internal import HostResolver
public import ServiceDiscovery
public import StreamKit

extension StreamPair {
    /// Makes a TCP connection to a service that was discovered, or whose name is known. It is resolved when the streams are
    /// opened.
    ///
    /// ```swift
    /// let printer = try ServiceInstance(name: "Office", type: ServiceType("_ipp._tcp"))
    /// let pair = StreamPair(service: printer)
    /// try pair.open()          // resolves host, port and addresses; reads and writes wait for them
    /// ```
    ///
    /// Resolving has no time limit of its own, since an absent service does not respond; `StreamProperty/openTimeout`, if set,
    /// covers resolving and connecting together. TLS verifies the service's host name. If no address accepts a connection, the
    /// engine queries the service again; a service that is gone disappears from all browsers (`ServiceResolver.reconfirm()`).
    /// Replaces `CFStreamCreatePairWithSocketToNetService` and `NetService.getInputStream`.
    ///
    /// - Parameters:
    ///   - service: the service. Streams use TCP: opening one for a `_udp` service fails.
    ///   - interface: the only interface to use; nil for all.
    ///   - engine: the discovery engine to use.
    public init(
        service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic,
        properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        let resolver = ServiceResolver(service, interface: interface, engine: engine)
        var properties = properties
        properties[.remoteService] = service
        self.init(finder: ServiceFinder(resolver: resolver), properties: properties, loop: loop)
    }
}

extension StreamProperty where Value == ServiceInstance {
    /// The service that the pair was made with; nil if the pair was made otherwise. The pair sets it; setting it has no effect.
    ///
    /// Replaces `kCFStreamPropertySocketRemoteNetService`.
    public static var remoteService: Self { .init("NetKit.remoteService", access: .beforeOpen) }
}

/// Finds a discovered service for a stream.
struct ServiceFinder: AddressFinder {
    let resolver: ServiceResolver

    /// The service without the final dot of its domain, which the end of a sentence follows.
    var description: String {
        let name = "\(resolver.service)"
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
        let task = Task {
            do throws(ServiceDiscoveryError) {
                guard resolver.service.type.transport == .tcp else {
                    throw ServiceDiscoveryError(.invalidType, name: description, detail: "a stream requires _tcp")
                }
                try await find { handler(.success($0)) }
            } catch {
                handler(.failure(StreamError(error, finding: description)))
            }
        }
        return LookupToken {
            task.cancel()
            return true
        }
    }

    /// Queries the service again, so that caches and browsers remove it if it is gone.
    func couldNotConnect(to found: FoundAddresses) {
        Task { try? resolver.reconfirm() }
    }
}

extension ServiceFinder {
    /// The time to wait for further addresses once there is one: responses for IPv4 and IPv6 arrive one after the other.
    static let grace: Duration = .milliseconds(250)

    /// Delivers the location of the service: all of its addresses, or those known at the end of the ``grace`` time, and then all
    /// that are known whenever there are more.
    private func find(_ deliver: (FoundAddresses) -> Void) async throws(ServiceDiscoveryError) {
        let feed = try resolver.start()
        defer { feed.stop() }
        guard var service = try await feed.next(until: nil) else {
            throw ServiceDiscoveryError(.cancelled, name: description)
        }
        let end = ContinuousClock.now + Self.grace
        do throws(ServiceDiscoveryError) {
            while !service.isComplete, let update = try await feed.next(until: end) { service = update }
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        deliver(FoundAddresses(service))
        while !service.isComplete, let update = try await feed.next(until: nil) {
            service = update
            deliver(FoundAddresses(service))
        }
    }
}

extension FoundAddresses {
    fileprivate init(_ service: ResolvedService) {
        let host = service.hostName
        self.init(
            addresses: service.addresses, name: host.hasSuffix(".") ? String(host.dropLast()) : host,
            isComplete: service.isComplete)
    }
}

extension StreamError {
    /// The failure of a search as the error of a stream, in CFNetServices' domain.
    init(_ error: ServiceDiscoveryError, finding service: String) {
        if error.code == .cancelled {
            self = .cancelled
            return
        }
        let details: [StreamErrorDetail: StreamErrorDetail.Value] =
            error.daemonNumber.map { [.discoveryFailure: .number($0)] } ?? [:]
        self.init(
            domain: StreamErrorDomain(rawValue: error.domain.rawValue), code: error.number,
            sentence: Sentence(
                "service.notFound", "Cannot connect to the service %1: %2.", service, error.description),
            underlying: error, details: details)
    }
}
