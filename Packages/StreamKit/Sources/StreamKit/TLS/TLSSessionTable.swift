/// Which sessions can be resumed with whom. Knows no OpenSSL and no clock.
///
/// Newest first, because servers forget the oldest first. Bounded in peers, in sessions for each and in age, since any
/// server can send as many as it likes.
struct TLSSessionTable<Session> {
    /// Which connections to a peer share sessions.
    enum Scope: Sendable, Hashable {
        /// Those to one port, by one way: nil if there is no proxy.
        case port(UInt16, through: String?)
        /// Those that the user says belong together, for all to see: a ticket may then serve more than once.
        case group(String)
    }

    /// Whom a session may be resumed with. A session says nothing about who vouched for the name, so the table itself
    /// belongs to one configuration.
    struct Key: Sendable, Hashable {
        let peerName: String
        let indicatedName: String?
        let scope: Scope

        var isShared: Bool { if case .group = scope { true } else { false } }
    }

    /// Most peers; the one that was used longest ago goes first.
    static var mostPeers: Int { 128 }
    /// Most sessions for a peer; OpenSSL's servers send two with each full handshake.
    static var mostPerPeer: Int { 4 }
    /// Oldest session to resume, in seconds: a session skips the check of the chain, so a day is enough trust in advance.
    static var oldest: Int64 { 24 * 60 * 60 }

    private struct Entry {
        let session: Session
        let isSingleUse: Bool
        let end: Int64
    }

    private struct Peer {
        var entries: [Entry] = []
        var lastUse: UInt64 = 0

        mutating func insert(_ entry: Entry, use: UInt64) {
            lastUse = use
            // A session that is used again and again is replaced by its renewal.
            if !entry.isSingleUse { entries.removeAll() }
            if entries.count == TLSSessionTable.mostPerPeer { entries.removeLast() }
            entries.insert(entry, at: 0)
        }

        mutating func take(now: Int64, use: UInt64) -> Session? {
            lastUse = use
            if entries.contains(where: { $0.end <= now }) { entries.removeAll { $0.end <= now } }
            guard let newest = entries.first else { return nil }
            if newest.isSingleUse { entries.removeFirst() }
            return newest.session
        }
    }

    private var peers: [Key: Peer] = [:]
    private var uses: UInt64 = 0

    /// How many sessions there are, for tests.
    var count: Int { peers.values.reduce(0) { $0 + $1.entries.count } }

    /// - Parameters:
    ///   - lifetime: what the server said, in seconds; 0 if it did not.
    ///   - now: any clock in seconds, always the same.
    mutating func insert(_ session: Session, isSingleUse: Bool, lifetime: Int64, for key: Key, now: Int64) {
        uses += 1
        let limit = lifetime > 0 ? min(lifetime, Self.oldest) : Self.oldest
        let entry = Entry(session: session, isSingleUse: isSingleUse, end: now + limit)
        peers[key, default: Peer()].insert(entry, use: uses)
        if peers.count > Self.mostPeers, let idle = peers.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            peers[idle.key] = nil
        }
    }

    /// The newest session, taken out if it can be used once only.
    mutating func take(for key: Key, now: Int64) -> Session? {
        guard let index = peers.index(forKey: key) else { return nil }
        uses += 1
        let newest = peers.values[index].take(now: now, use: uses)
        if peers.values[index].entries.isEmpty { peers.remove(at: index) }
        return newest
    }

    /// Forgets every session with a peer.
    mutating func remove(_ key: Key) {
        peers[key] = nil
    }
}
