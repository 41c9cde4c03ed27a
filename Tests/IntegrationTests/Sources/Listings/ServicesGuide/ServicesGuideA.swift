public import NetKit
internal import RunLoopDelivery

extension ServicesGuide {
    /// CFNetServices: the same with callbacks on a run loop.
    public enum AppendixA {
        /// describes a service.
        public static func listing1() throws(ServiceDiscoveryError) -> ServiceAdvertisement {
            ServiceAdvertisement(name: "Sales Laser Printer", type: try ServiceType("_printer._tcp"), port: 515)
        }

        /// registers it. `registered` is called on this thread's run loop, with each name that the service gets.
        ///
        /// A failure is thrown, and leaves nothing to clean up. Keep both results.
        public static func listing2(
            _ service: ServiceAdvertisement, engine: DiscoveryEngine,
            registered: @escaping @Sendable (Result<ServiceInstance, ServiceDiscoveryError>) -> Void
        ) throws(ServiceDiscoveryError) -> (ServicePublisher, Subscription) {
            let publisher = try ServicePublisher(service, engine: engine)
            return (publisher, deliver(publisher.names, registered))
        }

        /// browses; `found` is called on this thread's run loop. Keep both results.
        public static func listing3(
            _ type: String, engine: DiscoveryEngine,
            found: @escaping @Sendable (Result<DiscoveryChange<ServiceInstance>, ServiceDiscoveryError>) -> Void
        ) throws(ServiceDiscoveryError) -> (DiscoveryFeed<DiscoveryChange<ServiceInstance>>, Subscription) {
            let search = try ServiceBrowser(try ServiceType(type), engine: engine).start()
            return (search, deliver(search, found))
        }

        /// resolves without a limit; `resolved` is called on this thread's run loop with each answer. Keep both results.
        ///
        /// The guide's text names an older function than its listing.
        public static func listing4(
            _ service: ServiceInstance, engine: DiscoveryEngine,
            resolved: @escaping @Sendable (Result<ResolvedService, ServiceDiscoveryError>) -> Void
        ) throws(ServiceDiscoveryError) -> (DiscoveryFeed<ResolvedService>, Subscription) {
            let answers = try ServiceResolver(service, engine: engine).start()
            return (answers, deliver(answers, resolved))
        }

        /// ends resolving; no callback follows. The order does not matter.
        public static func listing5(_ answers: DiscoveryFeed<ResolvedService>, _ subscription: Subscription) {
            subscription.cancel()
            answers.stop()
        }

        /// ends browsing. The guide has two orders for this; both are right here.
        public static func listing6(
            _ search: DiscoveryFeed<DiscoveryChange<ServiceInstance>>, _ subscription: Subscription
        ) {
            search.stop()
            subscription.cancel()
        }

        /// Calls back on this thread's run loop with everything that a feed has.
        private static func deliver<Element: Sendable>(
            _ feed: DiscoveryFeed<Element>,
            _ callBack: @escaping @Sendable (Result<Element, ServiceDiscoveryError>) -> Void
        ) -> Subscription {
            feed.observe(on: .currentRunLoop) { [weak feed] in
                do throws(ServiceDiscoveryError) {
                    while let element = try feed?.tryNext() { callBack(.success(element)) }
                } catch {
                    callBack(.failure(error))
                }
            }
        }
    }
}
