public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Browsing.
    public enum Chapter3 {
        /// 3-1: begins to look for services of a type, in all domains.
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

        /// 3-2: the delegate keeps what is there, and whether the search is under way.
        public final class Listing2: NSObject {
            /// What is there now.
            public private(set) var services: [NetService] = []
            /// Whether the search is under way.
            public private(set) var isSearching = false
            private let updateUI: (Listing2) -> Void

            /// - Parameter updateUI: has the list shown.
            public init(updateUI: @escaping (Listing2) -> Void) {
                self.updateUI = updateUI
            }
        }
    }
}

/// 3-3: what it does when it is told.
///
/// The guide logs the host name of a service that was just found; it is nil until the service is resolved.
extension NetServiceGuide.Chapter3.Listing2: NetServiceBrowserDelegate {
    /// The search begins.
    public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {
        isSearching = true
        updateUI(self)
    }

    /// It was stopped.
    public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {
        isSearching = false
        updateUI(self)
    }

    /// It could not begin.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        isSearching = false
        updateUI(self)
    }

    /// A service has come.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        services.append(service)
        if !moreComing { updateUI(self) }
    }

    /// A service has gone.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        services.removeAll { $0 == service }
        if !moreComing { updateUI(self) }
    }
}

extension NetServiceGuide.Chapter3 {
    /// 3-3, under its number.
    public typealias Listing3 = Listing2
}
