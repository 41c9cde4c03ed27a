public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Browsing.
    public enum Chapter3 {
        /// 3-1: begins to browse for services of a type, in all domains.
        ///
        /// A comment of the guide says "local network", for which the domain is `local.`
        public static func listing1(
            _ type: String = "_music._tcp", delegate: any NetServiceBrowserDelegate, engine: DiscoveryEngine
        ) -> NetServiceBrowser {
            let browser = NetServiceBrowser(engine: engine)
            browser.delegate = delegate
            browser.searchForServices(ofType: type, inDomain: "")
            return browser
        }

        /// 3-2: the state of the delegate: the services, and whether the search is running.
        public final class Listing2: NSObject {
            /// The present services.
            public private(set) var services: [NetService] = []
            /// Whether the search is running.
            public private(set) var isSearching = false
            private let updateUI: (Listing2) -> Void

            /// - Parameter updateUI: displays the list.
            public init(updateUI: @escaping (Listing2) -> Void) {
                self.updateUI = updateUI
            }
        }
    }
}

/// 3-3: the methods of the delegate.
///
/// The guide logs the host name of a service that was just found, which is nil until the service is resolved.
extension NetServiceGuide.Chapter3.Listing2: NetServiceBrowserDelegate {
    /// The search has begun.
    public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {
        isSearching = true
        updateUI(self)
    }

    /// The search was stopped.
    public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {
        isSearching = false
        updateUI(self)
    }

    /// The search could not begin.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        isSearching = false
        updateUI(self)
    }

    /// A service was found.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        services.append(service)
        if !moreComing { updateUI(self) }
    }

    /// A service has disappeared.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        services.removeAll { $0 == service }
        if !moreComing { updateUI(self) }
    }
}

extension NetServiceGuide.Chapter3 {
    /// 3-3, under its number.
    public typealias Listing3 = Listing2
}
