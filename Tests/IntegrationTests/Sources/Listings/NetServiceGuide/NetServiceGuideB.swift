public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Domains.
    public enum AppendixB {
        /// B-1: begins to search for domains to publish in.
        public static func listing1(
            delegate: any NetServiceBrowserDelegate, engine: DiscoveryEngine
        ) -> NetServiceBrowser {
            let browser = NetServiceBrowser(engine: engine)
            browser.delegate = delegate
            browser.searchForRegistrationDomains()
            return browser
        }

        /// B-2: the state of the delegate: the domains.
        public final class Listing2: NSObject {
            /// The present domains.
            public private(set) var domains: [String] = []
            private let updateUI: (Listing2) -> Void

            /// - Parameter updateUI: displays the list.
            public init(updateUI: @escaping (Listing2) -> Void) {
                self.updateUI = updateUI
            }
        }
    }
}

/// B-3: the methods of the delegate.
extension NetServiceGuide.AppendixB.Listing2: NetServiceBrowserDelegate {
    /// A domain was found.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
    ) {
        domains.append(domainString)
        if !moreComing { updateUI(self) }
    }

    /// A domain has disappeared.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
    ) {
        domains.removeAll { $0 == domainString }
        if !moreComing { updateUI(self) }
    }
}

extension NetServiceGuide.AppendixB {
    /// B-3, under its number.
    public typealias Listing3 = Listing2
}
