public import NetKitFoundation

extension NetServiceGuide {
    /// Publishing.
    public enum Chapter2 {
        /// 2-1: publishes a service for a listening socket, under this computer's name and in all domains.
        ///
        /// The guide checks whether an object was made. Here that always succeeds, and errors are reported to the delegate.
        public static func listing1(
            port: Int32, delegate: any NetServiceDelegate, engine: DiscoveryEngine
        ) -> NetService {
            let service = NetService(domain: "", type: "_music._tcp", name: "", port: port, engine: engine)
            service.delegate = delegate
            service.publish()
            return service
        }
    }
}
