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
        try verifyProcess()
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

    /// Begins an operation whose replies come from a feed: a search, or the publication of a service.
    func begin<Element>(
        _ feed: DiscoveryFeed<Element>, publishing registration: ServiceRegistration? = nil, timeout: Duration? = nil,
        _ answer: @escaping FeedSource<Element>.Answer
    ) throws(ServiceFailure) {
        let source = FeedSource(feed, answer)
        let (replies, number) = try insert(source, registration)
        source.begin(timeout: timeout) { [weak replies] in replies?.refill(number) }
    }

    /// Begins an operation that has failed already: the reply says so.
    func fail(_ reply: @escaping Reply) throws(ServiceFailure) {
        let (replies, number) = try insert(FailedSource(reply), nil)
        replies.refill(number)
    }

    private func insert(
        _ source: any ReplySource, _ registration: ServiceRegistration?
    ) throws(ServiceFailure) -> (replies: ReplyQueue, number: ReplyQueue.OperationNumber) {
        let added = try ServiceReferences.add(handle, source, publishing: registration, sharing: connection)
        destination.pointee = handle.reference
        return added
    }
}

extension DNSServiceFlags {
    func has(_ flag: Int) -> Bool { self & DNSServiceFlags(flag) != 0 }
}

extension Handle {
    /// The value in a reply.
    var reference: DNSServiceRef? { DNSServiceRef(bitPattern: self) }
}
