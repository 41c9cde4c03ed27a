extension AddressRequest {
    /// The answer to a request that needs no lookup, because the host is an address or no family is requested;
    /// otherwise nil.
    var immediateAnswer: Result<[IPAddress], ResolverError>? {
        guard !families.isEmpty else { return .failure(ResolverError(.noData, name: name.description)) }
        guard let address = name.address else { return nil }
        return families.contains(address.family)
            ? .success([address]) : .failure(ResolverError(.noData, name: name.description))
    }
}
