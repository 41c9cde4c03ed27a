internal import COpenSSL

/// The sessions that can be resumed, by peer. Independent of OpenSSL and of clocks.
///
/// The newest session comes first, because servers forget the oldest first. The numbers of peers and of sessions per
/// peer, and the age of sessions, are bounded, because a server can send any number of sessions.
package struct TLSSessionTable<Session> {
    /// The connections to a peer that share sessions.
    enum Scope: Sendable, Hashable {
        /// Those to one port over one route; nil without a proxy.
        case port(UInt16, through: String?)
        /// Those that the user assigns to one group, openly linked: a ticket may then be used more than once.
        case group(String)
    }

    /// The peer of a session. A session does not record which trust verified the peer's name, so the table belongs to
    /// one configuration.
    package struct Key: Sendable, Hashable {
        let peerName: String
        let indicatedName: String?
        let scope: Scope

        var isShared: Bool { if case .group = scope { true } else { false } }
    }

    /// The maximum number of peers; the least recently used one is dropped first.
    static var maximumPeers: Int { 128 }
    /// The maximum number of sessions per peer; OpenSSL's servers send two with each full handshake.
    static var maximumPerPeer: Int { 4 }
    /// The maximum size of a session in bytes, with the peer's certificate and ticket. A ticket may have up to 64 KiB (RFC 8446
    /// §4.6.1), and the client sends it with each attempt to resume. Tickets of OpenSSL's servers have 200 bytes, or a few thousand with a
    /// client's certificate.
    static var maximumSize: Int { 16 << 10 }
    /// The maximum age of a session, in seconds. A resumed session skips the verification of the chain, so it is
    /// limited to a day.
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
            // A reusable session is replaced by its renewal.
            if !entry.isSingleUse { entries.removeAll() }
            if entries.count == TLSSessionTable.maximumPerPeer { entries.removeLast() }
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

    /// The number of sessions, for tests.
    var count: Int { peers.values.reduce(0) { $0 + $1.entries.count } }

    /// - Parameters:
    ///   - lifetime: the lifetime that the server announced, in seconds; 0 if it announced none.
    ///   - now: the time in seconds on any clock, always the same one.
    mutating func insert(_ session: Session, isSingleUse: Bool, lifetime: Int64, for key: Key, now: Int64) {
        uses += 1
        let limit = lifetime > 0 ? min(lifetime, Self.oldest) : Self.oldest
        let entry = Entry(session: session, isSingleUse: isSingleUse, end: now + limit)
        peers[key, default: Peer()].insert(entry, use: uses)
        if peers.count > Self.maximumPeers, let idle = peers.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            peers[idle.key] = nil
        }
    }

    /// Returns the newest session, and removes it if it may be used only once.
    mutating func take(for key: Key, now: Int64) -> Session? {
        guard let index = peers.index(forKey: key) else { return nil }
        uses += 1
        let newest = peers.values[index].take(now: now, use: uses)
        if peers.values[index].entries.isEmpty { peers.remove(at: index) }
        return newest
    }

    /// Removes all sessions of a peer.
    mutating func remove(_ key: Key) {
        peers[key] = nil
    }
}

/// Owns a session that can be resumed.
package final class TLSSession {
    private let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        SSL_SESSION_free(pointer)
    }

    /// Calls `body` with the pointer, which is valid only during the call: outside of it, Swift may release this object
    /// before the pointer's last use.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// Whether to use the session once. A TLS 1.3 ticket is, so that two connections cannot be attributed to the same
    /// client (RFC 8446 §C.4).
    var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= CInt(TLSVersion.tls13.rawValue) }

    /// A copy to be used once more: OpenSSL marks a TLS 1.3 session as used up after its first use. Nil if out of
    /// memory.
    func copy() -> TLSSession? {
        withPointer { SSL_SESSION_dup($0) }.map { TLSSession(owning: $0) }
    }

    var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }

    /// The number of bytes of the encoded session.
    var size: Int { TLSSession.size(of: pointer) }

    /// The number of bytes of an encoded session.
    static func size(of pointer: OpaquePointer) -> Int { Int(i2d_SSL_SESSION(pointer, nil)) }

    /// The lifetime that the server announced, in seconds; 0 if it announced none.
    var lifetime: Int64 { Int64(SSL_SESSION_get_ticket_lifetime_hint(pointer)) }
}

// OpenSSL counts references to a session atomically, and locks the parts of a shared session that it changes.
extension TLSSession: @unchecked Sendable {}
