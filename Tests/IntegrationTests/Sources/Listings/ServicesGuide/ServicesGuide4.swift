public import NetKit

extension ServicesGuide {
    /// Resolving and connecting.
    public enum Chapter4 {
        /// 4-1: connects to a service: resolves it until both address families are known, and uses the fastest address.
        public static func listing1(
            _ service: ServiceInstance, engine: DiscoveryEngine
        ) async throws -> StreamPair {
            let answers = try ServiceResolver(service, engine: engine).start()
            defer { answers.stop() }
            let end = ContinuousClock.now + .seconds(30)
            guard var resolved = try await answers.next(until: end) else { throw ServiceDiscoveryError(.cancelled) }
            while !resolved.isComplete, let more = try await answers.next(until: end) { resolved = more }
            let pair = StreamPair(addresses: resolved.addresses, name: resolved.hostName)
            try pair.open()
            return pair
        }

        /// 4-2: makes a service from a saved name, and resolves it with a time limit.
        ///
        /// The guide's text has one word too many in the name of the initializer.
        public static func listing2(
            _ serviceName: String, type: String = "_music._tcp", engine: DiscoveryEngine
        ) throws(ServiceDiscoveryError) -> DiscoveryFeed<ResolvedService> {
            let service = try ServiceInstance(name: serviceName, type: try ServiceType(type), domain: .local)
            return try ServiceResolver(service, engine: engine).start()
        }

        /// 4-3: whether the addresses are complete. Those of IPv4 and of IPv6 arrive in any order.
        public static func listing3(_ service: ResolvedService) -> Bool {
            !service.addresses.isEmpty && service.isComplete
        }

        /// 4-4: the methods of the delegate: collect answers until they are complete. At the limit, returns those received, or nil.
        public static func listing4(
            _ answers: DiscoveryFeed<ResolvedService>, limit: Duration = .seconds(5)
        ) async throws(ServiceDiscoveryError) -> ResolvedService? {
            let end = ContinuousClock.now + limit
            var last: ResolvedService?
            defer { answers.stop() }
            do throws(ServiceDiscoveryError) {
                while let service = try await answers.next(until: end) {
                    last = service
                    if listing3(service) { break }
                }
            } catch {
                if error.code != .timedOut { throw error }
            }
            return last
        }

        /// 4-5: reports that connecting to a resolved service failed.
        ///
        /// The guide splits the name at its dots, which names may contain, and expects the protocol in the third part. A
        /// `ServiceInstance` has the parts.
        public static func listing5(
            _ service: ServiceInstance, engine: DiscoveryEngine
        ) throws(ServiceDiscoveryError) {
            try ServiceResolver(service, engine: engine).reconfirm()
        }
    }
}
