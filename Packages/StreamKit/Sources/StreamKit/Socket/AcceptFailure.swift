internal import Glibc

/// What a failed `accept4(2)` means for who accepts: a table, since accept reports the troubles of others too.
enum AcceptFailure: Equatable {
    /// Nobody is there.
    case nobody
    /// That one connection failed before it was taken; the next may be fine. Each try uses one up, so trying on ends.
    case nextPlease
    /// Out of descriptors or memory. The connection stays in the queue, so trying at once would spin.
    case scarcity
    /// The listener itself is at fault.
    case fatal

    /// How many failed connections one call passes over before it lets the loop go on: a peer can make as many as it likes.
    static let passedOverPerTurn = 64

    init(_ number: CInt) {
        switch number {
        case EAGAIN: self = .nobody
        // accept(2): "already-pending network errors on the new socket" and what firewalls answer.
        case EINTR, ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH,
            EPERM:
            self = .nextPlease
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .scarcity
        default: self = .fatal
        }
    }
}
