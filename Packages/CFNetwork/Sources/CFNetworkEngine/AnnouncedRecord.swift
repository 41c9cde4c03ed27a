/// The TXT record of a service, and the one that its registration announces.
///
/// Without I/O. Threads may set the record at the same time, also while a registration begins. One of them at a time updates the
/// registration, until it announces the record that was set last; the others only store theirs.
///
/// An update may still be in progress when its registration ends and the next one begins. Its result is then about a registration
/// that is over, and changes nothing, whatever its record.
struct AnnouncedRecord: Sendable {
    /// One registration of the service.
    struct Registration: Hashable {
        fileprivate var number = 0
    }

    /// What a caller does next.
    enum Step: Equatable {
        /// Update the registration, then call ``AnnouncedRecord/updated(_:to:)``, ``AnnouncedRecord/refused(_:by:)`` or
        /// ``AnnouncedRecord/end(_:)``.
        case update([UInt8]?, of: Registration)
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
    /// The latest registration.
    private var registration = Registration()

    init(_ value: [UInt8]? = nil) { self.value = value }

    /// A registration begins. Returns it and its record; the caller then calls ``updated(_:to:)`` with both, or ``end(_:)`` if the
    /// registration fails.
    mutating func begin() -> (registration: Registration, record: [UInt8]?) {
        registration.number += 1
        announcement = .updating(from: value, to: value)
        return (registration, value)
    }

    /// A registration has ended; nil for the latest one.
    mutating func end(_ registration: Registration? = nil) {
        if registration ?? self.registration == self.registration { announcement = .none }
    }

    mutating func set(_ record: [UInt8]) -> Step {
        value = record
        return next()
    }

    /// A registration announces a record.
    mutating func updated(_ registration: Registration, to record: [UInt8]?) -> Step {
        guard registration == self.registration, case .updating(_, record) = announcement else { return .current }
        announcement = .announced(record)
        return next()
    }

    /// A registration has refused a record, and announces the previous one, which the service then has again.
    mutating func refused(_ record: [UInt8]?, by registration: Registration) -> Step {
        guard registration == self.registration, case .updating(let previous, record) = announcement else {
            return .current
        }
        announcement = .announced(previous)
        if value == record { value = previous }
        return next()
    }

    private mutating func next() -> Step {
        guard case .announced(let present) = announcement, present != value else { return .current }
        announcement = .updating(from: present, to: value)
        return .update(value, of: registration)
    }
}
