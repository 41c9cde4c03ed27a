public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Resolving and connecting.
    public enum Chapter4 {
        /// 4-1: connects to a service with streams, which open at once or later; nil if there is no such service.
        ///
        /// A half that is not needed is omitted, rather than made and discarded.
        public static func listing1(_ service: NetService) -> (input: InputStream, output: OutputStream)? {
            var input: InputStream?
            var output: OutputStream?
            guard service.getInputStream(&input, outputStream: &output), let input, let output else { return nil }
            input.open()
            output.open()
            return (input, output)
        }

        /// 4-2: makes a service from a saved name, and resolves it with a time limit.
        public static func listing2(
            _ serviceName: String, type: String = "_music._tcp", delegate: any NetServiceDelegate,
            engine: DiscoveryEngine
        ) -> NetService {
            let service = NetService(domain: "local.", type: type, name: serviceName, engine: engine)
            service.delegate = delegate
            service.resolve(withTimeout: 5)
            return service
        }

        /// 4-3: the state of a delegate of several services: those being resolved.
        public final class Listing3: NSObject {
            /// The services being resolved.
            public private(set) var services: [NetService] = []
            private let finished: (NetService, NSNumber?) -> Void

            /// - Parameter finished: receives each service once it is resolved, or with the number of the error.
            public init(finished: @escaping (NetService, NSNumber?) -> Void) {
                self.finished = finished
            }

            /// Keeps a service alive until it is resolved.
            public func add(_ service: NetService) { services.append(service) }

            /// Whether all addresses that this program needs are known; they arrive in any order.
            private func addressesComplete(_ addresses: [Data]?) -> Bool { addresses?.isEmpty == false }

            private func remove(_ service: NetService, _ error: NSNumber?) {
                guard let index = services.firstIndex(of: service) else { return }
                services.remove(at: index)
                finished(service, error)
            }
        }

        /// 4-5: reports that connecting to a resolved service failed.
        ///
        /// The guide splits the full name at its dots, which names may contain. The object has the parts.
        public static func listing5(_ service: NetService) throws(ServiceDiscoveryError) {
            let instance = try ServiceInstance(
                name: service.name, type: ServiceType(service.type), domain: ServiceDomain(service.domain))
            try ServiceResolver(instance, engine: service.engine).reconfirm()
        }
    }
}

/// 4-4: the methods of the delegate.
extension NetServiceGuide.Chapter4.Listing3: NetServiceDelegate {
    /// An address is known, or a further one.
    public func netServiceDidResolveAddress(_ sender: NetService) {
        if addressesComplete(sender.addresses) { remove(sender, nil) }
    }

    /// Nothing was found within the time limit.
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        remove(sender, errorDict[NetService.errorCode])
    }
}

extension NetServiceGuide.Chapter4 {
    /// 4-4, under its number.
    public typealias Listing4 = Listing3
}
