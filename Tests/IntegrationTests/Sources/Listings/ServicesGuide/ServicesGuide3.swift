public import NetKit

extension ServicesGuide {
    /// Browsing.
    public enum Chapter3 {
        /// 3-1: begins to look for services of a type.
        ///
        /// A comment of the guide says "local network" where its code asks for all domains; `domain: .local` asks for that.
        public static func listing1(
            _ type: String = "_music._tcp", engine: DiscoveryEngine
        ) throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceInstance>> {
            try ServiceBrowser(try ServiceType(type), engine: engine).start()
        }

        /// 3-2: what the delegate keeps.
        public struct Listing2 {
            /// Whether the search is under way.
            public internal(set) var isSearching = false
            /// What is there now.
            public internal(set) var services: [ServiceInstance] = []

            /// Nothing yet.
            public init() {}
        }

        /// 3-3: what the delegate does: keeps the list, and has it shown when nothing more is about to come.
        ///
        /// The guide logs the host name of a service that was just found; it is known only after resolving.
        public static func listing3(
            _ search: DiscoveryFeed<DiscoveryChange<ServiceInstance>>, updateUI: (Listing2) -> Void
        ) async throws(ServiceDiscoveryError) {
            var list = Listing2()
            list.isSearching = true
            updateUI(list)
            while let change = try await search.next() {  // what fails is thrown; nil once the search was stopped
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
