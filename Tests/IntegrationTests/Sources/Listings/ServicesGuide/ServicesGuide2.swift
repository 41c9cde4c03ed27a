public import NetKit

/// The listings of the NSNetServices and CFNetServices Programming Guide, each written with NetKit under its number: A-3 is
/// `ServicesGuide.AppendixA.listing3`.
///
/// Functions that wait and sequences replace delegates and callbacks; one loop does the work of several delegate methods of the
/// guide. `swift run listing 3-1` runs one of them.
public enum ServicesGuide {}

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
