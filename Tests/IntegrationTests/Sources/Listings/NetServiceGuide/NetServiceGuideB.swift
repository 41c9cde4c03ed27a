public import Foundation
public import NetKitFoundation

extension NetServiceGuide {
    /// Domains.
    public enum AppendixB {
        /// B-1: begins to look for domains to publish in.
        public static func listing1(
            delegate: any NetServiceBrowserDelegate, engine: DiscoveryEngine
        ) -> NetServiceBrowser {
            let browser = NetServiceBrowser(engine: engine)
            browser.delegate = delegate
            browser.searchForRegistrationDomains()
            return browser
        }

        /// B-2: the delegate keeps the domains that there are.
        public final class Listing2: NSObject {
            /// What is there now.
            public private(set) var domains: [String] = []
            private let updateUI: (Listing2) -> Void

            /// - Parameter updateUI: has the list shown.
            public init(updateUI: @escaping (Listing2) -> Void) {
                self.updateUI = updateUI
            }
        }
    }
}

/// B-3: what it does when it is told.
extension NetServiceGuide.AppendixB.Listing2: NetServiceBrowserDelegate {
    /// A domain has come.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
    ) {
        domains.append(domainString)
        if !moreComing { updateUI(self) }
    }

    /// A domain has gone.
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
