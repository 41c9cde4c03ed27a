public import NetKitFoundation

/// The listings of the same guide in their original form: `NetService`, `NetServiceBrowser` and their delegates, which
/// `NetKitFoundation` provides on Linux. 3-1 is `NetServiceGuide.Chapter3.listing1`; `swift run listing foundation 3-1` runs it.
///
/// Call each on a thread with a running run loop. The delegate is called there; the caller must keep it alive. Appendix A is about
/// CFNetServices: see ``ServicesGuide/AppendixA``.
public enum NetServiceGuide {}

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
