internal import EventLoops

/// The contexts in use, one for each distinct configuration.
///
/// Making a context reads the trust store. Doing that for each connection would add half to the cost of a handshake.
final class TLSContextCache: Sendable {
    /// What a context depends on: the configuration without its settings for single connections, and the files that it
    /// names.
    struct Key: Sendable, Hashable {
        let configuration: TLSConfiguration
        let files: [FileStamp?]

        init(_ configuration: TLSConfiguration, files: [FileStamp?]) {
            self.files = files
            var shared = configuration
            shared.peerName = nil
            shared.serverNameIndication = .peerName
            shared.sessionGroup = nil
            shared.allowsTruncation = false
            shared.returnsToPlain = false
            self.configuration = shared
        }

        /// The present state of the files that a configuration names.
        static func files(of trust: TLSTrust) -> [FileStamp?] {
            var stamps = trust.includesSystemRoots ? SystemRoots.stamps() : []
            stamps.reserveCapacity(
                stamps.count + trust.files.count + trust.directories.count + trust.revocationLists.count)
            for path in trust.files { stamps.append(FileStamp(path)) }
            for path in trust.directories { stamps.append(FileStamp(path)) }
            for path in trust.revocationLists { stamps.append(FileStamp(path)) }
            return stamps
        }
    }

    private final class Entry {
        let key: Key
        let context: TLSContext
        /// The configuration of the last request. Most connections have exactly this one, and then no key need be made.
        let latest: TLSConfiguration

        init(_ key: Key, _ context: TLSContext, latest: TLSConfiguration) {
            self.key = key
            self.context = context
            self.latest = latest
        }
    }

    /// The cache of this process.
    static let shared = TLSContextCache()

    /// The maximum number of contexts kept. The least recently used one is dropped first; connections keep theirs
    /// alive.
    let capacity: Int

    /// The most recently used context comes first. It nearly always matches, and comparing two keys costs a fifth of
    /// hashing one.
    private let entries = Locked<[Entry]>([])

    init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
    }

    /// Returns the context for a configuration, and makes it if there is none.
    func context(for configuration: TLSConfiguration) throws(StreamError) -> TLSContext {
        let files = Key.files(of: configuration.trust)
        let latest = entries.withLock { entries -> TLSContext? in
            guard let first = entries.first, first.latest == configuration, first.key.files == files else { return nil }
            return first.context
        }
        if let latest { return latest }
        let key = Key(configuration, files: files)
        if let context = entries.withLock({ TLSContextCache.use(key, of: &$0, for: configuration) }) { return context }
        // Made without the lock, because it reads files. If two are made at once, the first one to arrive is used by
        // both, so that sessions are shared.
        let made = try TLSContext(key.configuration)
        return entries.withLock { entries in
            if let other = TLSContextCache.use(key, of: &entries, for: configuration) { return other }
            if entries.count == capacity { entries.removeLast() }
            entries.insert(Entry(key, made, latest: configuration), at: 0)
            return made
        }
    }

    private static func use(
        _ key: Key, of entries: inout [Entry], for configuration: TLSConfiguration
    ) -> TLSContext? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
        let context = entries[0].context
        entries[0] = Entry(entries[0].key, context, latest: configuration)
        return context
    }
}
