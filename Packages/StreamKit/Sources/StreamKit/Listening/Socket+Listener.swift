internal import EventLoops
internal import Glibc
internal import HostResolver

extension Socket {
    /// An accepted connection that is still a bare descriptor.
    struct Accepted {
        let descriptor: CInt
        let peer: SocketAddress?
    }

    /// Waits for a slot and then for a connection, which owns the slot. Nil once the slots are closed.
    ///
    /// - Throws: as ``accept(until:)``; the slot has been returned.
    nonisolated(nonsending) func accept(
        into slots: ConnectionSlots
    ) async throws(StreamError) -> Accepted? {
        try enter(.reader)
        defer { leave(.reader) }
        while true {
            guard await slots.take() else { return nil }
            do throws(StreamError) {
                if hasTurn(.reader, for: .readable), let accepted = try acceptNext() { return accepted }
            } catch {
                slots.release()
                throw error
            }
            slots.release()
            try await wait(.reader, for: .readable, until: nil)
        }
    }
}

extension StreamPair {
    /// Makes streams on an accepted connection.
    init(_ accepted: Socket.Accepted, _ properties: StreamProperties, loop: EventLoop) {
        let connection = Connection(
            adopting: accepted.descriptor, as: .accepted, ownership: .owned, properties, loop: loop)
        let options = ConnectingSocket.Options(
            sendsAtOnce: properties[.sendsAtOnce] ?? true, keepsAlive: properties[.keepsAlive] ?? false,
            serviceType: properties[.serviceType])
        ConnectingSocket.configure(accepted.descriptor, options, family: accepted.peer?.family ?? AF_UNSPEC)
        self.init(connection)
    }
}
