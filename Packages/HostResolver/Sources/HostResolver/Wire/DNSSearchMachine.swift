/// Tries the names that a short name may stand for, one after another (resolv.conf(5), `search`).
struct DNSSearchMachine {
    /// The name to ask for now; nil when all were tried.
    private(set) var current: DNSName?

    private var rest: ArraySlice<DNSName>
    private let name: String
    private var failure: ResolverError?

    init(_ host: HostName, configuration: ResolverConfiguration) {
        rest = configuration.candidates(for: host)[...]
        name = host.description
        current = rest.popFirst()
    }

    /// The current name led to nothing. True if there is another one to try.
    mutating func failed(_ error: ResolverError) -> Bool {
        if Self.weight(error) > (failure.map(Self.weight) ?? -1) { failure = error }
        // Silence would be met again with the next name; a server that failed for one zone may know another.
        let goesOn = [.hostNotFound, .noData, .serverFailed].contains(error.code)
        current = goesOn ? rest.popFirst() : nil
        return current != nil
    }

    /// The failure of the whole search, told about the name that was written.
    var result: ResolverError {
        (failure ?? ResolverError(.hostNotFound)).about(name)
    }

    /// "No such name" for one candidate says less than "no such record" for another, and that less than a failure.
    private static func weight(_ error: ResolverError) -> Int {
        switch error.code {
        case .hostNotFound: 0
        case .noData: 1
        default: 2
        }
    }
}
