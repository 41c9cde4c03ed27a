public import NetKitFoundation

extension NetServiceGuide {
    /// Publishing.
    public enum Chapter2 {
        /// 2-1: publishes a service for a socket that listens already, under this computer's name and in all domains.
        ///
        /// The guide asks whether an object was made; here one always is, and what is wrong with it the delegate is told.
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
