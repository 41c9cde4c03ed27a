internal import EventLoops

/// The contexts in use, one for each distinct configuration.
///
/// Making a context reads the trust store; doing that for each connection makes a handshake half as dear again.
final class TLSContextCache: Sendable {
    /// What a context depends on: the configuration without what is told to each connection, and the files it names.
    struct Key: Sendable, Hashable {
        let configuration: TLSConfiguration
        let files: [FileStamp?]

        init(_ configuration: TLSConfiguration) {
            var shared = configuration
            shared.peerName = nil
            shared.serverNameIndication = .peerName
            shared.sessionGroup = nil
            shared.allowsTruncation = false
            self.configuration = shared
            let trust = configuration.trust
            let places = trust.includesSystemRoots ? SystemRoots.places() : []
            files = (places + trust.files + trust.directories + trust.revocationLists).map { FileStamp($0) }
        }
    }

    private struct Entry {
        let context: TLSContext
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var uses: UInt64 = 0
    }

    /// The cache of this process.
    static let shared = TLSContextCache()

    /// Most contexts kept; the one that was used longest ago goes first. Connections keep theirs alive beyond that.
    let capacity: Int

    private let state = Locked(State())

    init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
    }

    /// The context for a configuration, made if there is none.
    func context(for configuration: TLSConfiguration) throws(StreamError) -> TLSContext {
        let key = Key(configuration)
        if let context = use(key) { return context }
        // Made without the lock, because it reads files. Two at once: the first one in wins, so that sessions are shared.
        let made = try TLSContext(key.configuration)
        return state.withLock { state in
            state.uses += 1
            if let other = state.entries[key] { return other.context }
            state.entries[key] = Entry(context: made, lastUse: state.uses)
            if state.entries.count > capacity,
                let idle = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[idle.key] = nil
            }
            return made
        }
    }

    private func use(_ key: Key) -> TLSContext? {
        state.withLock { state in
            guard let entry = state.entries[key] else { return nil }
            state.uses += 1
            state.entries[key]?.lastUse = state.uses
            return entry.context
        }
    }
}
