public import FoundationEssentials
public import StreamKit

/// Everything one does on an FTP server: list, fetch, store, make, rename, remove.
///
/// ```swift
/// let client = try FTPClient(URL(string: "ftps://ann@ftp.example.org/")!)
/// try client.set(.ftpPassword, to: password)
/// for entry in try await client.list("pub") where entry.kind == .file {
///     print(entry.name, entry.size ?? 0)
/// }
/// try await client.rename("new.txt", to: "old.txt")
/// ```
///
/// It has no session of its own: each call takes an idle one from its pool or logs in, so calls may overlap, and a server that
/// ends an idle session is not noticed. Paths are as ``FTPPath`` says; the URL's own path is not used. What a server refuses is
/// thrown with its reply: `StreamError.underlying` is an ``FTPError``.
public final class FTPClient: Sendable {
    private let location: FTPLocation
    private let settings: Locked<FTPSettings>
    private let loop: EventLoop

    /// A client for a server: scheme, host, port and user of the URL count.
    ///
    /// - Throws: as `ReadStream.init(ftpURL:loop:)`.
    public init(_ url: URL, loop: EventLoop = .shared) throws(StreamError) {
        location = try FTPConversation.converting { () throws(FTPError) in try FTPLocation(url) }
        self.loop = loop
        var settings = FTPSettings()
        settings.pool = FTPSessionPool()
        self.settings = Locked(settings)
    }

    /// Sets a property of the streams that are made from now on.
    ///
    /// - Throws: `EINVAL` for one that `ftpClient` does not honour, and `FTPError.Code.badArgument` for text
    ///   that no command can carry.
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        if let refusal = StreamKind.ftpClient.refusal(of: property) { throw refusal }
        try FTPSettings.check(value, named: property.name)
        settings.withLock { $0.set(value, named: property.name) }
    }

    /// Where its idle sessions are; its own unless set otherwise.
    public var pool: FTPSessionPool { settings.withLock { $0.pool } ?? .shared }

    // MARK: Streams

    /// A stream of a file, from `offset` on; nil for what `ftpTransferOffset` says, which is 0 by default.
    public func reader(_ path: FTPPath, offset: UInt64? = nil) -> ReadStream {
        var settings = settings.withLock { $0 }
        if let offset { settings.set(offset, named: StreamProperty<UInt64>.ftpTransferOffset.name) }
        return read(.reading(path.bytes, at: location, isASCII: false, settings, loop: loop))
    }

    /// A stream into a file; see `WriteStream.init(ftpURL:loop:)` for its end.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - offset: where to write; what the file has before that stays. Nil for what `ftpAppends` and
    ///     `ftpTransferOffset` say: by default, the file is replaced.
    public func writer(_ path: FTPPath, offset: UInt64? = nil) -> WriteStream {
        var settings = settings.withLock { $0 }
        if let offset {
            settings.set(offset, named: StreamProperty<UInt64>.ftpTransferOffset.name)
            settings.set(nil, named: StreamProperty<Bool>.ftpAppends.name)
        }
        return write(.writing(path.bytes, at: location, isASCII: false, settings, loop: loop))
    }

    /// A stream that adds to the end of a file (APPE).
    public func appender(_ path: FTPPath) -> WriteStream {
        var settings = settings.withLock { $0 }
        settings.set(true, named: StreamProperty<Bool>.ftpAppends.name)
        settings.set(nil, named: StreamProperty<UInt64>.ftpTransferOffset.name)
        return write(.writing(path.bytes, at: location, isASCII: false, settings, loop: loop))
    }

    /// A stream of a directory's listing, as it comes.
    public func lister(_ path: FTPPath = "") -> ReadStream {
        read(.listing(path.bytes, at: location, settings.withLock { $0 }, loop: loop))
    }

    // MARK: Questions and changes

    /// What is in a directory, without the directory itself and the one above, all at once.
    ///
    /// The entries of a large directory are better read one by one (``entries(_:)``), which takes no more memory than one.
    ///
    /// - Throws: what the server refuses, a listing with a line beyond all measure, and one of more than ``listingLimit`` bytes or
    ///   whose entries take more than ``listMemoryLimit``.
    public nonisolated(nonsending) func list(_ path: FTPPath = "") async throws(StreamError) -> [ListingEntry] {
        try await list(path, memory: FTPClient.listMemoryLimit, bytes: FTPClient.listingLimit)
    }

    nonisolated(nonsending) func list(
        _ path: FTPPath, memory memoryLimit: Int, bytes listingLimit: Int
    ) async throws(StreamError) -> [ListingEntry] {
        var entries: [ListingEntry] = []
        var used = 0
        for try await entry in FTPEntries(client: self, path: path, byteLimit: listingLimit) {
            // While the array grows, there are two of it.
            used += entry.memorySize + MemoryLayout<ListingEntry>.stride
            guard used <= memoryLimit else {
                throw StreamError(domain: .ftp, code: 200, .tooManyEntries(memoryLimit))
            }
            entries.append(entry)
        }
        return entries
    }

    /// What is in a directory, as it comes: for directories of any size.
    public func entries(_ path: FTPPath = "") -> FTPEntries { FTPEntries(client: self, path: path, byteLimit: nil) }

    /// The most memory that ``list(_:)`` fills with entries, in bytes: 32 MiB, for about 50,000 entries with many facts or 80,000
    /// with few. ``entries(_:)`` keeps none of them.
    public static let listMemoryLimit = 32 << 20

    /// The most bytes of a listing that ``list(_:)`` reads: 64 MiB. ``entries(_:)`` reads listings of any length.
    public static let listingLimit = 64 << 20

    func listingOptions(now: Int64) -> ListingOptions {
        let listing = settings.withLock { $0.listing }
        return ListingOptions(now: now, format: listing == .names ? .names : nil)
    }

    /// Makes a directory, whose parent exists.
    public nonisolated(nonsending) func makeDirectory(_ path: FTPPath) async throws(StreamError) {
        try await run([("MKD", path.bytes)])
    }

    /// Removes a directory, which must be empty.
    public nonisolated(nonsending) func removeDirectory(_ path: FTPPath) async throws(StreamError) {
        try await run([("RMD", path.bytes)])
    }

    /// Removes a file.
    public nonisolated(nonsending) func remove(_ path: FTPPath) async throws(StreamError) {
        try await run([("DELE", path.bytes)])
    }

    /// Gives a file or directory another name, or place.
    public nonisolated(nonsending) func rename(_ path: FTPPath, to other: FTPPath) async throws(StreamError) {
        try await run([("RNFR", path.bytes), ("RNTO", other.bytes)])
    }

    /// How many bytes a file has (SIZE, RFC 3659 §4).
    public nonisolated(nonsending) func size(of path: FTPPath) async throws(StreamError) -> UInt64 {
        let stream = try await run(.size(path.bytes))
        guard let size = stream[.ftpResourceSize] else { throw StreamError(domain: .ftp, code: 200, .noAnswer("SIZE")) }
        return size
    }

    /// When a file was changed (MDTM, RFC 3659 §3), in UTC.
    public nonisolated(nonsending) func modificationDate(of path: FTPPath) async throws(StreamError) -> ListingDate {
        let reply = try await run([("MDTM", path.bytes)])
        // The format is that of the fact, so its reader is asked.
        let line = Array("modify=".utf8) + (reply?.lines.last?[...].trimmed ?? []) + Array("; x".utf8)
        guard let entries = try? ListingParser.entries(of: line, ListingOptions(now: 0, format: .facts)),
            let date = entries.first?.date
        else { throw StreamError(domain: .ftp, code: 200, .noAnswer("MDTM")) }
        return date
    }

    /// Sets the permission bits of a file (SITE CHMOD), on servers that know it.
    public nonisolated(nonsending) func setMode(_ mode: UInt16, of path: FTPPath) async throws(StreamError) {
        let digits = String(mode & 0o7777, radix: 8)
        try await run([("SITE", Array("CHMOD \(digits) ".utf8) + path.bytes)])
    }

    /// Sends a command that moves no data, and gives the reply, also if it is a refusal.
    ///
    /// It has no effect on other calls: a session on which a command may have changed the user, the directory, the type or anything
    /// else that a session keeps (all but questions such as STAT and SIZE, and changes of files such as DELE) is closed
    /// afterwards.
    public nonisolated(nonsending) func command(_ command: FTPCommand) async throws(StreamError) -> FTPReply {
        let stream = try await run(.raw(command))
        guard let reply = stream[.ftpLastReply] else { throw .closed }
        return reply
    }

    // MARK: Running

    private func read(_ exchange: FTPExchange) -> ReadStream {
        let stream = ReadStream(transport: exchange)
        // Cannot fail: it is settable always.
        try? stream.set(.readLimit, to: settings.withLock { $0.all[.readLimit] })
        return stream
    }

    private func write(_ exchange: FTPExchange) -> WriteStream {
        let stream = WriteStream(transport: exchange)
        try? stream.set(.writeLimit, to: settings.withLock { $0.all[.writeLimit] })
        return stream
    }

    /// The stream with the limit of this library, for reads that the library performs, unless the client was given one.
    func limited(_ stream: ReadStream) -> ReadStream {
        try? stream.set(.readLimit, to: settings.withLock { $0.all[.readLimit] } ?? FTPTimeLimits.idleData)
        return stream
    }

    /// The stream with the limit of this library, for writes that the library performs, unless the client was given one.
    func limited(_ stream: WriteStream) -> WriteStream {
        try? stream.set(.writeLimit, to: settings.withLock { $0.all[.writeLimit] } ?? FTPTimeLimits.idleData)
        return stream
    }

    @discardableResult
    private nonisolated(nonsending) func run(
        _ commands: [(String, [UInt8])]
    ) async throws(StreamError) -> FTPReply? {
        var encoded: [FTPCommand] = []
        for (verb, argument) in commands {
            encoded.append(
                try FTPConversation.converting { () throws(FTPError) in try FTPCommand(verb, bytes: argument) })
        }
        return try await run(.commands(encoded))[.ftpLastReply]
    }

    private nonisolated(nonsending) func run(_ job: FTPJob) async throws(StreamError) -> ReadStream {
        let exchange = FTPExchange(.ftpClient, location, settings: settings.withLock { $0 }, loop: loop) { _ in job }
        let stream = ReadStream(transport: exchange)
        defer { stream.close() }
        try stream.open()
        try await stream.opened()
        return stream
    }
}

extension StreamError {
    fileprivate init(domain: StreamErrorDomain, code: Int, _ sentence: Sentence) {
        self.init(domain: domain, code: code, sentence: sentence)
    }
}

extension Sentence {
    fileprivate static func tooManyEntries(_ limit: Int) -> Sentence {
        Sentence(
            "ftp.entries", "The entries of the directory take more than %1 bytes of memory; read them one at a time.",
            "\(limit)")
    }

    fileprivate static func noAnswer(_ command: String) -> Sentence {
        Sentence("ftp.noAnswer", "The server's reply to %1 cannot be parsed.", command)
    }
}
