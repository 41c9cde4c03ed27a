internal import Glibc

/// The meaning of a failed `accept4(2)` for the caller. A table, because accept also reports failures of single
/// connections.
enum AcceptFailure: Equatable {
    /// No connection is waiting.
    case noConnection
    /// That connection failed before it was accepted; the next one may succeed. Each call consumes a connection, so
    /// retrying terminates.
    case connectionFailed
    /// No descriptor or memory is left. The connection stays in the queue, so an immediate retry would spin.
    case scarcity
    /// The listener itself has failed.
    case fatal

    /// The most failed connections that one call skips before the loop continues: a peer can make any number of them.
    static let failuresPerTurn = 64

    init(_ number: CInt) {
        switch number {
        case EAGAIN: self = .noConnection
        // accept(2): "already-pending network errors on the new socket", and the errors that firewalls cause.
        case EINTR, ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH,
            EPERM:
            self = .connectionFailed
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .scarcity
        default: self = .fatal
        }
    }
}
