internal import DNSServiceC
internal import DNSWire
internal import EventLoops
internal import ServiceDiscovery

/// An operation that a function begins: the place for its reference, and the connection that it shares.
struct NewOperation {
    let handle: Handle
    private let destination: UnsafeMutablePointer<DNSServiceRef?>
    private let connection: ServiceReference?

    init(_ destination: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags) throws(ServiceFailure) {
        guard let destination else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        self.destination = destination
        if flags.has(kDNSServiceFlagsShareConnection) {
            let connection = try ServiceReferences.find(destination.pointee)
            guard case .connection = connection.work else { throw ServiceFailure(kDNSServiceErr_BadReference) }
            self.connection = connection
        } else {
            connection = nil
        }
        handle = ServiceReferences.makeHandle()
    }

    /// The reference in a reply.
    var reference: DNSServiceRef? { DNSServiceRef(bitPattern: handle) }

    /// Begins an operation whose replies come from a feed.
    func begin<Element>(
        _ feed: DiscoveryFeed<Element>, as work: ServiceReference.Work = .search, timeout: Duration? = nil,
        _ answer: @escaping FeedSource<Element>.Answer
    ) throws(ServiceFailure) {
        let source = FeedSource(feed, answer)
        let reference = try insert(source, as: work)
        let number = reference.operation ?? 0
        source.begin(timeout: timeout) { [weak replies = reference.replies] in replies?.refill(number) }
    }

    /// Begins an operation that has failed already: the reply says so.
    func fail(_ reply: @escaping Reply) throws(ServiceFailure) {
        let reference = try insert(FailedSource(reply), as: .search)
        reference.replies.refill(reference.operation ?? 0)
    }

    private func insert(
        _ source: any ReplySource, as work: ServiceReference.Work
    ) throws(ServiceFailure) -> ServiceReference {
        let reference = try ServiceReferences.add(handle, work, source, sharing: connection)
        destination.pointee = self.reference
        return reference
    }
}

extension DNSServiceFlags {
    func has(_ flag: Int) -> Bool { self & DNSServiceFlags(flag) != 0 }
}

extension Handle {
    /// The value in a reply.
    var reference: DNSServiceRef? { DNSServiceRef(bitPattern: self) }
}
