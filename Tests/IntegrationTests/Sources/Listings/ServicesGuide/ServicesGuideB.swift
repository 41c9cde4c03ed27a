public import NetKit

extension ServicesGuide {
    /// Domains.
    public enum AppendixB {
        /// B-1: begins to search for domains to publish in.
        public static func listing1(
            engine: DiscoveryEngine
        ) throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceDomain>> {
            try ServiceDomainBrowser(.registration, engine: engine).start()
        }

        /// B-2: the state of the delegate.
        public struct Listing2 {
            /// The present domains.
            public internal(set) var domains: [ServiceDomain] = []

            /// Makes an empty state.
            public init() {}
        }

        /// B-3: the methods of the delegate: maintain the list until the search is stopped.
        public static func listing3(
            _ search: DiscoveryFeed<DiscoveryChange<ServiceDomain>>, updateUI: (Listing2) -> Void
        ) async throws(ServiceDiscoveryError) {
            var list = Listing2()
            while let change = try await search.next() {
                switch change.kind {
                case .found: list.domains.append(change.value)
                case .removed: list.domains.removeAll { $0 == change.value }
                }
                if !change.moreComing { updateUI(list) }
            }
        }
    }
}
