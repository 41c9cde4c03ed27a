internal import HostResolver
internal import ServiceDiscovery
internal import StreamKit

/// Finds a discovered service for a stream.
struct ServiceFinder: PlaceFinder {
    let resolver: ServiceResolver

    var description: String { "\(resolver.service)" }

    func start(_ handler: @escaping @Sendable (Result<FoundPlace, StreamError>) -> Void) -> LookupToken {
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

    /// Has the service asked for again, so that it goes from caches and browsers if it is gone.
    func couldNotConnect(to place: FoundPlace) {
        Task { try? resolver.reconfirm() }
    }
}

extension ServiceFinder {
    /// How long more addresses are waited for once there is one: answers about IPv4 and IPv6 come one after the other.
    static let grace: Duration = .milliseconds(250)

    /// Tells where the service is: all of its addresses, or those that are known when the others have had their time, and then the
    /// others.
    private func find(_ tell: (FoundPlace) -> Void) async throws(ServiceDiscoveryError) {
        let feed = try resolver.start()
        defer { feed.stop() }
        guard var place = try await feed.next(until: nil) else {
            throw ServiceDiscoveryError(.cancelled, name: description)
        }
        let end = ContinuousClock.now + Self.grace
        do throws(ServiceDiscoveryError) {
            while !place.isComplete, let news = try await feed.next(until: end) { place = news }
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        tell(FoundPlace(place))
        while !place.isComplete, let news = try await feed.next(until: nil) {
            place = news
            tell(FoundPlace(place))
        }
    }
}

extension FoundPlace {
    fileprivate init(_ service: ResolvedService) {
        let host = service.hostName
        self.init(
            addresses: service.addresses, name: host.hasSuffix(".") ? String(host.dropLast()) : host,
            isComplete: service.isComplete)
    }
}

extension StreamError {
    /// A failed search as the failure of a stream, in CFNetServices' domain.
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
