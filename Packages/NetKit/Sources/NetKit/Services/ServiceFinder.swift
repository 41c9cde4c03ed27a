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
                    throw ServiceDiscoveryError(.invalidType, name: description, detail: "streams are TCP")
                }
                handler(.success(FoundPlace(try await resolver.resolve(until: nil))))
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

extension FoundPlace {
    fileprivate init(_ service: ResolvedService) {
        let host = service.hostName
        self.init(addresses: service.addresses, name: host.hasSuffix(".") ? String(host.dropLast()) : host)
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
                "service.notFound", "The service %1 cannot be connected to: %2.", service, error.description),
            underlying: error, details: details)
    }
}
