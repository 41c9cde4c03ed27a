/// The TXT record of a service, and the one that its registration announces.
///
/// Without I/O. Threads may set the record at the same time, also while a registration begins. One of them at a time updates the
/// registration, until it announces the record that was set last; the others only store theirs.
struct AnnouncedRecord: Sendable {
    /// What a caller does next.
    enum Step: Equatable {
        /// Update the registration, then call ``AnnouncedRecord/updated(to:)`` or ``AnnouncedRecord/refused(_:)``.
        case update([UInt8]?)
        /// Nothing: the registration announces the record, another caller updates it, or there is none.
        case current
    }

    private enum Announcement {
        /// The service is not registered.
        case none
        case announced([UInt8]?)
        /// A caller updates the registration, or begins it with the record.
        case updating(from: [UInt8]?, to: [UInt8]?)
    }

    /// The record that was set last, except those that were refused; nil if none was set.
    private(set) var value: [UInt8]?
    private var announcement = Announcement.none

    init(_ value: [UInt8]? = nil) { self.value = value }

    /// A registration begins. Returns its record; the caller then calls ``updated(to:)`` with it, or ``end()`` if the registration
    /// fails.
    mutating func begin() -> [UInt8]? {
        announcement = .updating(from: value, to: value)
        return value
    }

    /// The registration has ended.
    mutating func end() { announcement = .none }

    mutating func set(_ record: [UInt8]) -> Step {
        value = record
        return next()
    }

    /// The registration announces a record.
    mutating func updated(to record: [UInt8]?) -> Step {
        guard case .updating(_, record) = announcement else { return .current }
        announcement = .announced(record)
        return next()
    }

    /// The registration has refused a record, and announces the previous one, which the service then has again.
    mutating func refused(_ record: [UInt8]?) -> Step {
        guard case .updating(let previous, record) = announcement else { return .current }
        announcement = .announced(previous)
        if value == record { value = previous }
        return next()
    }

    private mutating func next() -> Step {
        guard case .announced(let present) = announcement, present != value else { return .current }
        announcement = .updating(from: present, to: value)
        return .update(value)
    }
}
