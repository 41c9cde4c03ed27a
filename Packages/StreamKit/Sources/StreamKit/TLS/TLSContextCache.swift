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
            shared.returnsToPlain = false
            self.configuration = shared
            let trust = configuration.trust
            let places = trust.includesSystemRoots ? SystemRoots.places() : []
            files = (places + trust.files + trust.directories + trust.revocationLists).map { FileStamp($0) }
        }
    }

    private struct Entry {
        let key: Key
        let context: TLSContext
    }

    /// The cache of this process.
    static let shared = TLSContextCache()

    /// Most contexts kept; the one that was used longest ago goes first. Connections keep theirs alive beyond that.
    let capacity: Int

    /// The one used last is first. Nearly always it is that one, and to compare two keys costs a fifth of hashing one.
    private let entries = Locked<[Entry]>([])

    init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
    }

    /// The context for a configuration, made if there is none.
    func context(for configuration: TLSConfiguration) throws(StreamError) -> TLSContext {
        let key = Key(configuration)
        if let context = entries.withLock({ TLSContextCache.use(key, of: &$0) }) { return context }
        // Made without the lock, because it reads files. Two at once: the first one in wins, so that sessions are shared.
        let made = try TLSContext(key.configuration)
        return entries.withLock { entries in
            if let other = TLSContextCache.use(key, of: &entries) { return other }
            if entries.count == capacity { entries.removeLast() }
            entries.insert(Entry(key: key, context: made), at: 0)
            return made
        }
    }

    private static func use(_ key: Key, of entries: inout [Entry]) -> TLSContext? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
        return entries[0].context
    }
}
