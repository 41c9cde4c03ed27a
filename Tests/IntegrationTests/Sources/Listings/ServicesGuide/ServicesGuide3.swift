public import NetKit

extension ServicesGuide {
    /// Browsing.
    public enum Chapter3 {
        /// 3-1: begins to browse for services of a type.
        ///
        /// A comment of the guide says "local network" although its code searches all domains; `domain: .local` searches only that.
        public static func listing1(
            _ type: String = "_music._tcp", engine: DiscoveryEngine
        ) throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceInstance>> {
            try ServiceBrowser(try ServiceType(type), engine: engine).start()
        }

        /// 3-2: the state of the delegate.
        public struct Listing2 {
            /// Whether the search is running.
            public internal(set) var isSearching = false
            /// The present services.
            public internal(set) var services: [ServiceInstance] = []

            /// Makes an empty state.
            public init() {}
        }

        /// 3-3: the methods of the delegate: maintain the list, and display it when no further change is pending.
        ///
        /// The guide logs the host name of a service that was just found, which is known only after resolving.
        public static func listing3(
            _ search: DiscoveryFeed<DiscoveryChange<ServiceInstance>>, updateUI: (Listing2) -> Void
        ) async throws(ServiceDiscoveryError) {
            var list = Listing2()
            list.isSearching = true
            updateUI(list)
            while let change = try await search.next() {  // throws errors; nil once the search was stopped
                switch change.kind {
                case .found: list.services.append(change.value)
                case .removed: list.services.removeAll { $0 == change.value }
                }
                if !change.moreComing { updateUI(list) }
            }
            list.isSearching = false
            updateUI(list)
        }
    }
}
