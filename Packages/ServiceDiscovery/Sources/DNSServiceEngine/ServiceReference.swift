internal import DNSServiceC
internal import EventLoops
internal import ServiceDiscovery

/// The object behind a `DNSServiceRef`.
final class ServiceReference: Sendable {
    /// What the reference stands for.
    enum Work: Sendable {
        /// A connection that operations share.
        case connection
        /// An operation with its number and, if it shares a connection, the reference of that one; with a registration if it
        /// publishes a service.
        case operation(ReplyQueue.OperationNumber, sharing: Handle?, ServiceRegistration?)
    }

    /// The value of the `DNSServiceRef`.
    let handle: Handle
    let work: Work
    let replies: ReplyQueue

    fileprivate init(_ handle: Handle, _ work: Work, _ replies: ReplyQueue) {
        (self.handle, self.work, self.replies) = (handle, work, replies)
    }

    /// The reference of the connection that the operation shares; nil for a connection, and for an operation with one of its own.
    var owner: Handle? {
        if case .operation(_, let owner, _) = work { owner } else { nil }
    }

    /// The service that the operation publishes.
    var registration: ServiceRegistration? {
        if case .operation(_, _, let registration) = work { registration } else { nil }
    }
}

/// The value of a `DNSServiceRef` or a `DNSRecordRef`: a number in the form of a pointer.
typealias Handle = UInt

/// The references that are not released. A value is never used twice, so a released reference is always recognized.
enum ServiceReferences {
    private struct Table {
        var last: Handle = 0
        var references: [Handle: ServiceReference] = [:]
        var records: [Handle: ServiceRecord] = [:]
    }

    private static let table = Locked(Table())

    /// The reference of a value.
    static func find(_ handle: DNSServiceRef?) throws(ServiceFailure) -> ServiceReference {
        guard let handle else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        try verifyProcess()
        let number = Handle(bitPattern: handle)
        guard let reference = table.withLock({ $0.references[number] }) else {
            throw ServiceFailure(kDNSServiceErr_BadReference)
        }
        return reference
    }

    /// A value that is no address of memory, and that no other reference has had.
    static func makeHandle() -> Handle {
        table.withLock { table in
            table.last += 16
            return table.last
        }
    }

    /// Adds a connection without an operation.
    static func addConnection() throws(ServiceFailure) -> ServiceReference {
        try verifyProcess()
        let reference = ServiceReference(makeHandle(), .connection, try ReplyQueue())
        _ = insert(reference)  // It shares no connection.
        return reference
    }

    /// Adds an operation, whose replies come through the connection or one of its own.
    ///
    /// - Returns: the queue of its replies, and its number there.
    static func add(
        _ handle: Handle, _ source: any ReplySource, publishing registration: ServiceRegistration?,
        sharing connection: ServiceReference?
    ) throws(ServiceFailure) -> (replies: ReplyQueue, number: ReplyQueue.OperationNumber) {
        let replies = if let connection { connection.replies } else { try ReplyQueue() }
        let number = replies.add(source)
        let reference = ServiceReference(handle, .operation(number, sharing: connection?.handle, registration), replies)
        guard insert(reference) else {
            replies.remove(number)
            throw ServiceFailure(kDNSServiceErr_BadReference)
        }
        return (replies, number)
    }

    /// Adds a reference; false if the connection that it shares was released meanwhile.
    private static func insert(_ reference: ServiceReference) -> Bool {
        table.withLock { table in
            if let owner = reference.owner, table.references[owner] == nil { return false }
            table.references[reference.handle] = reference
            return true
        }
    }

    /// Removes a reference, and those of the operations that share it, and ends the operations.
    static func remove(_ handle: Handle) {
        let (removed, records) = table.withLock { table -> ([ServiceReference], [ServiceRecord]) in
            guard let reference = table.references.removeValue(forKey: handle) else { return ([], []) }
            var removed = [reference]
            if case .connection = reference.work {
                removed += table.references.values.filter { $0.owner == handle }
                for shared in removed { table.references[shared.handle] = nil }
            }
            let owners = Set(removed.map(\.handle))
            let records = table.records.filter { owners.contains($0.value.owner) }
            for record in records.keys { table.records[record] = nil }
            return (removed, Array(records.values))
        }
        guard let reference = removed.first else { return }
        switch reference.work {
        case .operation(let number, sharing: .some, _): reference.replies.remove(number)
        case .connection, .operation(_, sharing: nil, _): reference.replies.close()
        }
        // Publishers are released without the lock: they send goodbyes.
        withExtendedLifetime((removed, records)) {}
    }

    // MARK: Records

    /// Adds a record.
    ///
    /// - Throws: kDNSServiceErr_BadReference if its reference was released meanwhile. A record that stayed would be published for ever.
    static func insert(_ record: ServiceRecord, as handle: Handle) throws(ServiceFailure) {
        let isInserted = table.withLock { table in
            guard table.references[record.owner] != nil else { return false }
            table.records[handle] = record
            return true
        }
        guard isInserted else { throw ServiceFailure(kDNSServiceErr_BadReference) }
    }

    /// A record of a reference.
    static func find(_ handle: DNSRecordRef, of owner: ServiceReference) throws(ServiceFailure) -> ServiceRecord {
        let number = Handle(bitPattern: handle)
        guard let record = table.withLock({ $0.records[number] }), record.owner == owner.handle else {
            throw ServiceFailure(kDNSServiceErr_BadReference)
        }
        return record
    }

    static func removeRecord(_ handle: DNSRecordRef) {
        let number = Handle(bitPattern: handle)
        let removed = table.withLock { $0.records.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}  // released without the lock
    }
}

/// The object behind a `DNSRecordRef`.
struct ServiceRecord: Sendable {
    /// Where the record is published.
    enum Place: Sendable {
        /// Beside the records of a service.
        case service(ServiceRegistration)
        /// Alone, as an operation of a connection.
        case alone(RecordPublisher, ReplyQueue.OperationNumber)
    }

    let owner: Handle
    let type: UInt16
    let place: Place
}

/// A published service, and the records that were added to it.
final class ServiceRegistration: Sendable {
    let publisher: ServicePublisher
    private let added = Locked<[(handle: Handle, record: OwnRecord)]>([])

    init(_ publisher: ServicePublisher) { self.publisher = publisher }

    /// Adds a record, replaces the one of the handle, or, with nil, removes it.
    func set(_ record: OwnRecord?, as handle: Handle) throws(ServiceDiscoveryError) {
        // The engine is called with the lock held, so that it gets the sets in order.
        try added.withLock { (added) throws(ServiceDiscoveryError) in
            var new = added
            if let index = new.firstIndex(where: { $0.handle == handle }) {
                if let record { new[index].record = record } else { new.remove(at: index) }
            } else if let record {
                new.append((handle, record))
            }
            try publisher.update(new.map(\.record))
            added = new
        }
    }
}
