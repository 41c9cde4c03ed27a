internal import EventLoops
internal import HostResolver

/// The connections of a listener: how many each client has, and since when each has waited for its client.
///
/// Without I/O. Waits are numbered in the order of their beginnings: the longest one has the lowest number.
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

    /// The wait of a connection for its client.
    private struct Wait {
        var connection: Number
        var start: Moment
    }

    /// The way to make room for another client.
    enum Room {
        /// Close this connection, which has waited longest for its client. The table has forgotten it.
        case close(Connection)
        /// Try again at this moment: no connection has waited long enough, or those that end for the clients may not have ended by then.
        /// Returned once for each moment.
        case wait(until: Moment)
        /// Nothing is to be done: no client needs room, places are free for all of them, an earlier ``wait(until:)`` is not over, or no
        /// connection waits, and the next one that would become idle ends.
        case none
    }

    /// What follows from the next activity of a connection.
    enum Change: Equatable {
        /// The activity has begun.
        case begun
        /// It has begun, and no connection waited before although a client needs room: room can be made now.
        case begunInCrowd
        /// It must end instead, for a client that needs room. The time to make more room, if it does not end, can be asked for now.
        case endsInCrowd
        /// It must end instead: it is being closed, or must not become idle, because the listener is stopping.
        case ends
    }

    /// The shortest time for which a connection that ends counts, so that not all are closed at once if the minimum wait is short.
    private static var shortestEnd: Duration { .milliseconds(100) }

    private let maximumPerClient: Int?
    private let minimumWait: Duration
    private var rows: [Number: Row] = [:]
    private var lastNumber: Number = 0
    private var counts: [ClientPrefix: Int] = [:]
    /// The connections that wait for their clients, by the numbers of the waits.
    private var waits: [UInt64: Wait] = [:]
    private var lastWait: UInt64 = 0
    /// The clients that need room: at most one for each listening socket, and since when.
    private(set) var demands: [Int: Moment] = [:]
    /// The connections that end for clients that need room, and until when each counts for one of them: its handler may be slow to end.
    private var ending: [Number: Moment] = [:]
    /// The places that have become free for clients that need room, and that none of them has taken.
    private var freePlaces = 0
    /// The moment of the last ``Room/wait(until:)``.
    private var nextAttempt: Moment?
    private(set) var isStopping = false

    /// - Parameters:
    ///   - maximumPerClient: the maximum number of connections of one client; nil for no limit.
    ///   - minimumWait: the time for which a connection may wait for its client before it can be closed for another one.
    init(maximumPerClient: Int?, minimumWait: Duration) {
        self.maximumPerClient = maximumPerClient
        self.minimumWait = minimumWait
    }

    var count: Int { rows.count }

    /// Whether a connection may become idle at present: not once a client has waited in vain for ``minimumWait``, or no connection waits.
    func mayBecomeIdle(now: Moment) -> Bool {
        if isStopping { return false }
        guard let start = unmetDemand(now) else { return true }
        return !waits.isEmpty && start + minimumWait > now
    }

    /// Since when the first client has needed room for which no connection ends and no place is free; nil without one.
    private func unmetDemand(_ now: Moment) -> Moment? {
        if demands.isEmpty { return nil }
        let met = freePlaces + ending.values.count { $0 > now }
        return demands.values.sorted().dropFirst(met).first
    }

    private mutating func end(_ number: Number, _ now: Moment) {
        ending = ending.filter { $0.value > now }
        ending[number] = now + max(minimumWait, Self.shortestEnd)
    }

    /// Adds a connection, which is idle. The client that has waited at its socket has found room.
    ///
    /// - Parameter socket: the listening socket.
    /// - Returns: its number; nil if the client has its maximum of connections, or the listener is stopping.
    mutating func add(_ connection: Connection, from address: SocketAddress?, at socket: Int, now: Moment) -> Number? {
        freePlaces = max(0, freePlaces - 1)
        endDemand(at: socket)
        if isStopping { return nil }
        let client = maximumPerClient == nil ? nil : ClientPrefix(address)
        if let maximumPerClient, let client {
            guard counts[client, default: 0] < maximumPerClient else { return nil }
            counts[client, default: 0] += 1
        }
        lastNumber += 1
        rows[lastNumber] = Row(connection: connection, client: client)
        beginWait(lastNumber, now)
        return lastNumber
    }

    /// Removes a connection that has ended, which makes its place free.
    mutating func remove(_ number: Number) {
        forget(number)
        ending[number] = nil
        if !demands.isEmpty { freePlaces += 1 }
    }

    private mutating func forget(_ number: Number) {
        guard let row = rows.removeValue(forKey: number) else { return }
        if let wait = row.wait { waits[wait] = nil }
        guard let client = row.client, let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }

    /// Records what a connection does next.
    mutating func change(_ number: Number, to activity: ServedConnection.Activity, now: Moment) -> Change {
        guard let row = rows[number] else { return .ends }
        if activity == .idle, !mayBecomeIdle(now: now) {
            // Its place makes room for one client.
            guard unmetDemand(now) != nil else { return .ends }
            end(number, now)
            return .endsInCrowd
        }
        let isFirst = waits.isEmpty
        if let wait = row.wait { waits[wait] = nil }
        rows[number]?.activity = activity
        rows[number]?.wait = nil
        if activity == .busy { return .begun }
        beginWait(number, now)
        return isFirst && unmetDemand(now) != nil ? .begunInCrowd : .begun
    }

    /// Chooses the connection that has waited longest for its client, and forgets it: one for each client that needs room, and another one
    /// if that has not ended within the minimum wait.
    ///
    /// - Parameter socket: the listening socket at which a client waits, for which the places that are free are not enough; nil to try
    ///   again for those that wait already.
    mutating func makeRoom(at socket: Int? = nil, now: Moment) -> Room {
        if let socket {
            if demands[socket] != nil { freePlaces = 0 }
            demands[socket] = demands[socket] ?? now
        }
        if demands.isEmpty { return .none }
        guard unmetDemand(now) != nil else {
            return ending.values.filter { $0 > now }.min().map { wait(until: $0, now) } ?? .none
        }
        guard let first = waits.keys.min(), let wait = waits[first], let row = rows[wait.connection] else {
            return .none
        }
        let end = wait.start + minimumWait
        if end > now { return self.wait(until: end, now) }
        forget(wait.connection)
        self.end(wait.connection, now)
        return .close(row.connection)
    }

    private mutating func wait(until moment: Moment, _ now: Moment) -> Room {
        if let nextAttempt, nextAttempt > now, nextAttempt <= moment { return .none }
        nextAttempt = moment
        return .wait(until: moment)
    }

    /// Records that the client at a listening socket needs no room any more.
    mutating func endDemand(at socket: Int) {
        demands[socket] = nil
        if demands.isEmpty { freePlaces = 0 }
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
        forget(number)
        return true
    }

    private mutating func beginWait(_ number: Number, _ now: Moment) {
        lastWait += 1
        waits[lastWait] = Wait(connection: number, start: now)
        rows[number]?.wait = lastWait
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
