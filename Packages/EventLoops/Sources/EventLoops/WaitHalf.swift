/// One direction of a connection: where a call enters a ``WaitPoint`` and waits.
public enum WaitHalf: Sendable, Hashable, CaseIterable {
    /// The receiving side.
    case reader
    /// The sending side.
    case writer

    /// 0 or 1: the position in a pair of both halves.
    @inlinable public var index: Int {
        switch self {
        case .reader: 0
        case .writer: 1
        }
    }

    /// The other direction.
    public var other: WaitHalf {
        switch self {
        case .reader: .writer
        case .writer: .reader
        }
    }

    /// The result of ``WaitPoint/enter(_:)``.
    public enum Entry: Sendable, Hashable {
        /// The call may proceed, and must end with ``WaitPoint/leave(_:)``.
        case entered
        /// Another call is in progress on this half. Do not call `leave`.
        case busy
        /// The half is closed. Do not call `leave`.
        case closed
    }
}
