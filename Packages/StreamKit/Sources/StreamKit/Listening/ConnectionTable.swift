internal import EventLoops
internal import HostResolver

/// The connections of a listener: how many each client has, and since when each has waited for its client.
///
/// Without I/O. Waits are numbered in the order of their beginnings, so the longest one is found without a search.
struct ConnectionTable<Connection> {
    /// The number of a connection.
    typealias Number = UInt64

    private struct Row {
        var connection: Connection
        var client: ClientPrefix?
        var activity = ServedConnection.Activity.idle
        /// The number of the present wait for the client; nil while the connection works for it.
        var wait: UInt64?
    }

    private let maximumPerClient: Int?
    private let minimumWait: Duration
    private var rows: [Number: Row] = [:]
    private var counts: [ClientPrefix: Int] = [:]
    private struct Wait {
        var connection: Number
        var start: Moment
    }

    /// The way to make room for another client.
    enum Room {
        /// Close this connection, which has waited longest for its client. The table has forgotten it.
        case close(Connection)
        /// Try again at this moment: no connection has waited long enough.
        case wait(until: Moment)
        /// No client needs room, or no connection waits: the next one that would become idle ends.
        case none
    }

    /// Which clients wait for room, as the listening sockets at which they wait.
    enum Shortage: Equatable {
        case none
        /// The connection that has waited longest is closed as soon as it has waited long enough.
        case room(at: Set<Int>)
        /// All connections are busy: the next one that would become idle ends.
        case crowd(at: Set<Int>)

        /// The sockets at which clients wait.
        var sockets: Set<Int> {
            switch self {
            case .none: []
            case .room(let sockets), .crowd(let sockets): sockets
            }
        }
    }

    /// What follows from the next activity of a connection.
    enum Change: Equatable {
        case begun
        /// It has begun, and is the first that waits in a crowd: try again to make room.
        case begunInCrowd
        /// It must end instead: it is being closed, or must not become idle, because the listener is stopping or another client waits
        /// for its place.
        case ends
    }

    /// The connections that wait for their clients, by the numbers of the waits.
    private var waits: [UInt64: Wait] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var shortage = Shortage.none
    private(set) var isStopping = false

    /// Whether a connection may become idle at present.
    var mayBecomeIdle: Bool {
        if case .crowd = shortage { return false }
        return !isStopping
    }

    /// - Parameters:
    ///   - maximumPerClient: the maximum number of connections of one client; nil for no limit.
    ///   - minimumWait: the time for which a connection may wait for its client before it can be closed for another one.
    init(maximumPerClient: Int?, minimumWait: Duration) {
        self.maximumPerClient = maximumPerClient
        self.minimumWait = minimumWait
    }

    var count: Int { rows.count }

    /// Adds a connection, which is idle. The client that has waited at its socket has found room.
    ///
    /// - Parameter socket: the listening socket.
    /// - Returns: its number; nil if the client has its maximum of connections, or the listener is stopping.
    mutating func add(_ connection: Connection, from address: SocketAddress?, at socket: Int, now: Moment) -> Number? {
        let waiting = shortage.sockets.subtracting([socket])
        shortage = waiting.isEmpty ? .none : .room(at: waiting)
        if isStopping { return nil }
        let client = maximumPerClient == nil ? nil : ClientPrefix(address)
        if let maximumPerClient, let client {
            guard counts[client, default: 0] < maximumPerClient else { return nil }
            counts[client, default: 0] += 1
        }
        lastNumber += 1
        rows[lastNumber] = Row(connection: connection, client: client)
        let number = lastNumber
        beginWait(number, now)
        return number
    }

    mutating func remove(_ number: Number) {
        guard let row = rows.removeValue(forKey: number) else { return }
        if let wait = row.wait { waits[wait] = nil }
        guard let client = row.client, let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }

    /// Records what a connection does next.
    mutating func change(_ number: Number, to activity: ServedConnection.Activity, now: Moment) -> Change {
        guard let row = rows[number] else { return .ends }
        if activity == .idle, !mayBecomeIdle {
            // Its place makes room for one client.
            if case .crowd(let sockets) = shortage { shortage = .room(at: sockets) }
            return .ends
        }
        if let wait = row.wait { waits[wait] = nil }
        rows[number]?.activity = activity
        rows[number]?.wait = nil
        if activity == .busy { return .begun }
        beginWait(number, now)
        return if case .crowd = shortage { .begunInCrowd } else { .begun }
    }

    /// Chooses the connection that has waited longest for its client, and forgets it.
    ///
    /// - Parameter socket: the listening socket at which a client waits; nil to try again for those that wait already.
    mutating func makeRoom(at socket: Int? = nil, now: Moment) -> Room {
        let waiting = shortage.sockets.union(socket.map { [$0] } ?? [])
        guard !waiting.isEmpty else { return .none }
        guard let first = waits.keys.min(), let wait = waits[first], let row = rows[wait.connection] else {
            shortage = .crowd(at: waiting)
            return .none
        }
        shortage = .room(at: waiting)
        let end = wait.start + minimumWait
        if end > now { return .wait(until: end) }
        remove(wait.connection)
        return .close(row.connection)
    }

    /// Lets no connection become idle any more.
    ///
    /// - Returns: the connections that are idle.
    mutating func stop() -> [(number: Number, connection: Connection)] {
        isStopping = true
        return rows.filter { $0.value.activity == .idle }.map { ($0.key, $0.value.connection) }
    }

    /// Forgets a connection if it is still idle. Returns whether it was.
    mutating func removeIdle(_ number: Number) -> Bool {
        guard rows[number]?.activity == .idle else { return false }
        remove(number)
        return true
    }

    private mutating func beginWait(_ number: Number, _ now: Moment) {
        lastNumber += 1
        waits[lastNumber] = Wait(connection: number, start: now)
        rows[number]?.wait = lastNumber
    }
}

/// The part of an address that identifies a client: an IPv4 address, or the first 64 bits of an IPv6 address, since a client can use
/// all addresses with them.
struct ClientPrefix: Hashable {
    private let octets: [UInt8]

    /// Nil for an address that is not an IP address.
    init?(_ address: SocketAddress?) {
        guard case .ip(let address, _)? = address else { return nil }
        octets =
            switch address {
            case .v4(let address): address.octets
            case .v6(let address): address.mappedIPv4?.octets ?? Array(address.octets.prefix(8))
            }
    }
}
