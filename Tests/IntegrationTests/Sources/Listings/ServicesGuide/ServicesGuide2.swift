public import NetKit

extension ServicesGuide {
    /// Publishing.
    public enum Chapter2 {
        /// 2-1: publishes a service for a listening socket, under this computer's name and in all domains. Returns the name that it
        /// got.
        ///
        /// Keep the publisher: the service is visible for as long as it lives.
        public static func listing1(
            port: UInt16, engine: DiscoveryEngine
        ) async throws(ServiceDiscoveryError) -> (ServicePublisher, ServiceInstance) {
            let service = ServiceAdvertisement(type: try ServiceType("_music._tcp"), port: port)
            let publisher = try ServicePublisher(service, engine: engine)
            return (publisher, try await publisher.published())
        }
    }
}
