extension AddressRequest {
    /// The answer to a request that needs no lookup: an address, or nothing asked for; nil for all others.
    var immediateAnswer: Result<[IPAddress], ResolverError>? {
        guard !families.isEmpty else { return .failure(ResolverError(.noData, name: name.description)) }
        guard let address = name.address else { return nil }
        return families.contains(address.family)
            ? .success([address]) : .failure(ResolverError(.noData, name: name.description))
    }
}
