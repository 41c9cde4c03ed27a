internal import Glibc

/// A socket that joins the multicast group on interfaces.
protocol GroupSocket: Sendable {
    /// The interfaces on which it has joined.
    var interfaces: Set<UInt32> { get }
    func join(_ interface: UInt32) -> GroupJoining
    func leave(_ interface: UInt32)
    func close()
}

/// The result of joining the group on an interface.
enum GroupJoining {
    case joined
    /// The interface does not allow it. It may be gone.
    case refused
    /// The socket has as many interfaces as it can have.
    case full
}

/// The sockets of one family. One is enough for most machines; the kernel lets a socket join the group on a limited number of
/// interfaces (net.ipv4.igmp_max_memberships, usually 20).
struct GroupSockets<Socket: GroupSocket>: Sendable {
    /// The socket that sends; it receives as well.
    let first: Socket
    /// Those that only receive, from further interfaces.
    private(set) var further: [Socket] = []

    init(_ first: Socket) { self.first = first }

    var all: [Socket] { [first] + further }

    /// Makes the sockets members of the group on exactly these interfaces, and each interface that of one socket: a packet arrives once.
    ///
    /// - Parameter open: opens a further socket.
    /// - Throws: the error of `open`, or `ENOBUFS` if a new socket can join nowhere. The interfaces before have been joined.
    mutating func join(
        _ interfaces: [UInt32], _ open: () throws(ServiceDiscoveryError) -> Socket
    ) throws(ServiceDiscoveryError) {
        for socket in all {
            for old in socket.interfaces.subtracting(interfaces).sorted() { socket.leave(old) }
        }
        let known = all.reduce(into: Set<UInt32>()) { $0.formUnion($1.interfaces) }
        for interface in interfaces where !known.contains(interface) {
            if all.contains(where: { $0.join(interface) != .full }) { continue }
            let another = try open()
            guard another.join(interface) != .full else {
                another.close()
                throw ServiceDiscoveryError(errno: ENOBUFS)
            }
            further.append(another)
        }
    }
}
