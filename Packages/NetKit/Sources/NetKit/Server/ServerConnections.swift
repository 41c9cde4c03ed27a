internal import EventLoops
internal import StreamKit

/// The connections of a server, so that stopping it can end those that are idle.
final class ServerConnections: Sendable {
    /// One of them.
    final class Entry: Sendable {
        fileprivate let pair: StreamPair
        fileprivate let isIdle = Locked(false)

        fileprivate init(_ pair: StreamPair) {
            self.pair = pair
        }
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var isStopping = false
    }

    private let state = Locked(State())

    /// True once the server is about to stop: no connection is kept any more.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func add(_ pair: StreamPair) -> Entry {
        let entry = Entry(pair)
        state.withLock { $0.entries[ObjectIdentifier(entry)] = entry }
        return entry
    }

    func remove(_ entry: Entry) {
        state.withLock { $0.entries[ObjectIdentifier(entry)] = nil }
    }

    /// The connection has nothing to do but to wait for a request. False if it must not wait, as the server stops.
    func becomeIdle(_ entry: Entry) -> Bool {
        // In this order: whoever stops looks at the entries after it has said so.
        entry.isIdle.withLock { $0 = true }
        return !isStopping
    }

    func becomeBusy(_ entry: Entry) {
        entry.isIdle.withLock { $0 = false }
    }

    /// Closes what is idle, now and from now on.
    func stop() {
        let entries = state.withLock { state in
            state.isStopping = true
            return Array(state.entries.values)
        }
        for entry in entries where entry.isIdle.withLock({ $0 }) { entry.pair.close() }
    }
}
