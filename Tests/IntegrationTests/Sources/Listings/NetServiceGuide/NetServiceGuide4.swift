public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Resolving and connecting.
    public enum Chapter4 {
        /// 4-1: connects to a service by streams, which are open at once or on their way; nil if there is no such service.
        ///
        /// A half that is not needed is left out, not made and thrown away.
        public static func listing1(_ service: NetService) -> (input: InputStream, output: OutputStream)? {
            var input: InputStream?
            var output: OutputStream?
            guard service.getInputStream(&input, outputStream: &output), let input, let output else { return nil }
            input.open()
            output.open()
            return (input, output)
        }

        /// 4-2: makes a service from a name that was saved, and resolves it with a limit.
        public static func listing2(
            _ serviceName: String, type: String = "_music._tcp", delegate: any NetServiceDelegate,
            engine: DiscoveryEngine
        ) -> NetService {
            let service = NetService(domain: "local.", type: type, name: serviceName, engine: engine)
            service.delegate = delegate
            service.resolve(withTimeout: 5)
            return service
        }

        /// 4-3: the delegate of several services keeps those that are being resolved.
        public final class Listing3: NSObject {
            /// Those under way.
            public private(set) var services: [NetService] = []
            private let finished: (NetService, NSNumber?) -> Void

            /// - Parameter finished: gets each service when enough is known of it, or with the number of what went wrong.
            public init(finished: @escaping (NetService, NSNumber?) -> Void) {
                self.finished = finished
            }

            /// Keeps a service until it is resolved.
            public func add(_ service: NetService) { services.append(service) }

            /// Whether both families of addresses are there that this program wants; they come in any order.
            private func addressesComplete(_ addresses: [Data]?) -> Bool { addresses?.isEmpty == false }

            private func remove(_ service: NetService, _ error: NSNumber?) {
                guard let index = services.firstIndex(of: service) else { return }
                services.remove(at: index)
                finished(service, error)
            }
        }

        /// 4-5: says that a service which was resolved could not be connected to.
        ///
        /// The guide takes the full name apart at its dots, which names may contain. The object knows its parts.
        public static func listing5(_ service: NetService) throws(ServiceDiscoveryError) {
            let instance = try ServiceInstance(
                name: service.name, type: ServiceType(service.type), domain: ServiceDomain(service.domain))
            try ServiceResolver(instance, engine: service.engine).reconfirm()
        }
    }
}

/// 4-4: what it does when it is told.
extension NetServiceGuide.Chapter4.Listing3: NetServiceDelegate {
    /// Something is known, or something more.
    public func netServiceDidResolveAddress(_ sender: NetService) {
        if addressesComplete(sender.addresses) { remove(sender, nil) }
    }

    /// Nothing was found in time.
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        remove(sender, errorDict[NetService.errorCode])
    }
}

extension NetServiceGuide.Chapter4 {
    /// 4-4, under its number.
    public typealias Listing4 = Listing3
}
