/// The search for a short name: the candidates of the search list, one after another (resolv.conf(5), `search`).
struct DNSSearchMachine {
    /// The current name to look up; nil after the last one.
    private(set) var current: DNSName?

    private var rest: ArraySlice<DNSName>
    private let name: String
    private var failure: ResolverError?

    init(_ host: HostName, configuration: ResolverConfiguration) {
        rest = configuration.candidates(for: host)[...]
        name = host.description
        current = rest.popFirst()
    }

    /// Accepts the failure of the current name and advances; true if there is another name to try.
    mutating func failed(_ error: ResolverError) -> Bool {
        if Self.weight(error) > (failure.map(Self.weight) ?? -1) { failure = error }
        // A server that failed for one zone may know another. A timeout would only happen again with the next name.
        let goesOn = [.hostNotFound, .noData, .serverFailed].contains(error.code)
        current = goesOn ? rest.popFirst() : nil
        return current != nil
    }

    /// The error of the whole search, with the original name.
    var result: ResolverError {
        (failure ?? ResolverError(.hostNotFound)).about(name)
    }

    /// The rank of an error: "no such record" for one candidate is more informative than "no such name" for another,
    /// and a server's failure more than both.
    private static func weight(_ error: ResolverError) -> Int {
        switch error.code {
        case .hostNotFound: 0
        case .noData: 1
        default: 2
        }
    }
}
