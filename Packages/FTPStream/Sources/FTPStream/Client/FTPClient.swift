public import FoundationEssentials
@_spi(Packages) public import StreamKit

/// A client of an FTP server: lists directories, downloads, uploads, renames and removes files, and sends other commands.
///
/// ```swift
/// let client = try FTPClient(URL(string: "ftps://ann@ftp.example.org/")!)
/// try client.set(.ftp(\.password), to: password)
/// for entry in try await client.list("pub") where entry.kind == .file {
///     print(entry.name, entry.size ?? 0)
/// }
/// try await client.rename("new.txt", to: "old.txt")
/// ```
///
/// Each call takes an idle session from the client's pool, or logs in. Calls may therefore overlap, and an idle session that the
/// server has ended is replaced. For the form of paths see ``FTPPath``; the path of the URL is not used. If the server refuses a
/// command, the call throws an error whose `StreamError.underlying` is an ``FTPError`` with the reply.
public final class FTPClient: Sendable {
    private let location: FTPLocation
    let options: Locked<FTPOptions>
    private let loop: EventLoop

    /// Creates a client for the server of a URL, with its scheme, host, port, user name and password.
    ///
    /// - Throws: As `ReadStream.init(ftpURL:loop:)`.
    public convenience init(_ url: URL, loop: EventLoop = .shared) throws(StreamError) {
        var options = FTPOptions()
        options.pool = FTPSessionPool()
        try self.init(url, options: options, loop: loop)
    }

    /// Creates a client with these options for the server of a URL.
    ///
    /// Otherwise as ``init(_:loop:)``, whose options have their defaults, except that it has a pool of its own.
    ///
    /// - Throws: As ``init(_:loop:)``; `FTPError.Code.badArgument` for text that a command cannot contain.
    public init(_ url: URL, options: FTPOptions, loop: EventLoop = .shared) throws(StreamError) {
        try options.check()
        var location = try StreamError.converting { () throws(FTPError) in try FTPLocation(url) }
        location.type = nil  // belongs to the path
        self.location = location
        self.loop = loop
        self.options = Locked(options)
    }

    /// Sets a property of the streams that are created from now on.
    ///
    /// - Throws: `EINVAL` for a property that `ftpClient` does not honour; `FTPError.Code.badArgument` for text that a command
    ///   cannot contain.
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        if let refusal = StreamKind.ftpClient.refusal(of: property) { throw refusal }
        try options.withLock { (options) throws(StreamError) in try options.set(value, named: property.name) }
    }

    /// Ends the idle sessions of the client's pool (QUIT), and waits until the servers have confirmed it, at most
    /// 2 s.
    ///
    /// Running transfers continue, and the client remains usable: its next call logs in again. Without this call, the sessions are
    /// closed when they have been idle for long enough, or with the client.
    public nonisolated(nonsending) func close() async { await pool.logOut() }

    /// The pool of the client's idle sessions: a separate one, unless ``FTPOptions/pool`` is set.
    public var pool: FTPSessionPool { options.withLock { $0.pool } }

    // MARK: Streams

    /// A stream that reads a file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - offset: the position in the file, in bytes. Nil for the value of ``FTPOptions/transferOffset``, which is 0 by default.
    public func reader(_ path: FTPPath, offset: UInt64? = nil) -> ReadStream {
        var options = options.withLock { $0 }
        if let offset { options.transferOffset = offset }
        return read(.reading(path.bytes, at: location, options, loop: loop))
    }

    /// A stream that writes a file. To complete the upload, call `finish()`; see `WriteStream.init(ftpURL:loop:)`.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - offset: the position in the file, in bytes; the contents before it remain. Nil for the values of ``FTPOptions/appends`` and
    ///     ``FTPOptions/transferOffset``: by default, the file is replaced.
    public func writer(_ path: FTPPath, offset: UInt64? = nil) -> WriteStream {
        var options = options.withLock { $0 }
        if let offset {
            options.transferOffset = offset
            options.appends = false
        }
        return write(.writing(path.bytes, at: location, options, loop: loop))
    }

    /// A stream that appends to a file (APPE).
    public func appender(_ path: FTPPath) -> WriteStream {
        var options = options.withLock { $0 }
        options.appends = true
        options.transferOffset = 0
        return write(.writing(path.bytes, at: location, options, loop: loop))
    }

    /// A stream of a directory listing in the server's format.
    public func lister(_ path: FTPPath = "") -> ReadStream {
        read(.listing(path.bytes, at: location, options.withLock { $0 }, loop: loop))
    }

    // MARK: Queries and changes

    /// Returns the entries of a directory, without the directory itself and its parent.
    ///
    /// For large directories use ``entries(_:)``, which keeps only one entry in memory. Lines that could not be read are not among the
    /// entries: a program that compares the directory with another one uses ``listing(_:)``.
    ///
    /// - Throws: The server's refusal; an error if a line is longer than `ListingOptions.maximumLineLength`, the listing has more than
    ///   64 MiB, or the entries take more than 32 MiB in memory.
    public nonisolated(nonsending) func list(_ path: FTPPath = "") async throws(StreamError) -> [ListingEntry] {
        try await listing(path).entries
    }

    /// Returns the entries of a directory, and the lines of its listing that could not be read.
    ///
    /// ```swift
    /// let listing = try await client.listing("pub")
    /// for line in listing.unread.texts { print("not read:", line) }
    /// ```
    ///
    /// - Throws: As ``list(_:)``.
    public nonisolated(nonsending) func listing(_ path: FTPPath = "") async throws(StreamError) -> FTPDirectoryListing {
        try await listing(path, memory: FTPClient.maximumListMemory, bytes: FTPClient.maximumListLength)
    }

    nonisolated(nonsending) func listing(
        _ path: FTPPath, memory maximumMemory: Int, bytes maximumListLength: Int
    ) async throws(StreamError) -> FTPDirectoryListing {
        var entries: [ListingEntry] = []
        var used = 0
        var iterator = FTPEntries(client: self, path: path, maximumLength: maximumListLength).makeAsyncIterator()
        while let entry = try await iterator.next() {
            // While the array grows, two copies of it exist.
            used += entry.memorySize + MemoryLayout<ListingEntry>.stride
            guard used <= maximumMemory else {
                throw StreamError(domain: .ftp, code: 200, .tooManyEntries(maximumMemory))
            }
            entries.append(entry)
        }
        return FTPDirectoryListing(entries: entries, unread: iterator.unread)
    }

    /// The entries of a directory as a sequence, for directories of any size.
    public func entries(_ path: FTPPath = "") -> FTPEntries { FTPEntries(client: self, path: path, maximumLength: nil) }

    /// The most memory for the entries of ``list(_:)``, in bytes: 32 MiB, about 50,000 entries with many facts or 80,000 with
    /// few. ``entries(_:)`` does not keep entries.
    @_spi(Packages) public static let maximumListMemory = 32 << 20

    /// The most bytes of a listing that ``list(_:)`` reads: 64 MiB. ``entries(_:)`` reads listings of any length.
    static let maximumListLength = 64 << 20

    func listingOptions(now: Int64) -> ListingOptions {
        let command = options.withLock { $0.listingCommand }
        return ListingOptions(now: now, format: command == .names ? .names : nil)
    }

    /// Creates a directory. Its parent must exist.
    public nonisolated(nonsending) func makeDirectory(_ path: FTPPath) async throws(StreamError) {
        try await run([("MKD", path.bytes)])
    }

    /// Removes an empty directory.
    public nonisolated(nonsending) func removeDirectory(_ path: FTPPath) async throws(StreamError) {
        try await run([("RMD", path.bytes)])
    }

    /// Removes a file.
    public nonisolated(nonsending) func remove(_ path: FTPPath) async throws(StreamError) {
        try await run([("DELE", path.bytes)])
    }

    /// Renames or moves a file or directory.
    public nonisolated(nonsending) func rename(_ path: FTPPath, to other: FTPPath) async throws(StreamError) {
        try await run([("RNFR", path.bytes), ("RNTO", other.bytes)])
    }

    /// The size of a file in bytes (SIZE, RFC 3659 §4).
    public nonisolated(nonsending) func size(of path: FTPPath) async throws(StreamError) -> UInt64 {
        let stream = try await run(.size(path.bytes))
        guard let size = stream[.ftpResourceSize] else {
            throw StreamError(domain: .ftp, code: 200, .invalidReply("SIZE"))
        }
        return size
    }

    /// The time at which a file was last changed (MDTM, RFC 3659 §3), in UTC.
    ///
    /// - Throws: `FTPError.Code.unexpectedReply` if the reply has no date.
    public nonisolated(nonsending) func modificationDate(of path: FTPPath) async throws(StreamError) -> ListingDate {
        let reply = try await run([("MDTM", path.bytes)])
        guard let reply else { throw .closed }
        // Some servers repeat the name behind the date.
        guard let date = ListingDate(timestamp: (reply.lines.last ?? [])[...].trimmed.prefix { $0 != 0x20 }) else {
            throw StreamError(FTPError(.unexpectedReply, reply: reply, .invalidReply("MDTM")))
        }
        return date
    }

    /// Sets the time at which a file was last changed: MFMT, or MDTM with a time, which some servers have in its place.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds since 1970, UTC, in the years 1 to 9999.
    ///   - path: The file.
    public nonisolated(nonsending) func setModificationDate(
        _ seconds: Int64, of path: FTPPath
    ) async throws(StreamError) {
        guard let date = ListingDate(secondsSince1970: seconds) else {
            throw StreamError(domain: .posix, code: 22, .invalidDate(seconds))
        }
        let argument = Array("\(date.timestamp) ".utf8) + path.bytes
        do throws(StreamError) {
            try await run([("MFMT", argument)])
        } catch  where [500, 502, 504].contains(error.code) && TreeTransfer.isRefusal(error) {
            try await run([("MDTM", argument)])
        }
    }

    /// Sets the permission bits of a file (SITE CHMOD), on servers that support it.
    public nonisolated(nonsending) func setMode(_ mode: UInt16, of path: FTPPath) async throws(StreamError) {
        let digits = String(mode & 0o7777, radix: 8)
        try await run([("SITE", Array("CHMOD \(digits) ".utf8) + path.bytes)])
    }

    /// Sends a command that transfers no data, and returns the reply, even a refusal.
    ///
    /// The command has no effect on other calls: unless it is known to leave the session unchanged (queries such as STAT and
    /// SIZE, changes of files such as DELE), the session is closed afterwards, because the user, directory or type may have
    /// changed.
    public nonisolated(nonsending) func command(_ command: FTPCommand) async throws(StreamError) -> FTPReply {
        let stream = try await run(.raw(command))
        guard let reply = stream[.ftpLastReply] else { throw .closed }
        return reply
    }

    // MARK: Running

    private func read(_ transport: FTPTransport) -> ReadStream {
        let stream = ReadStream(transport: transport)
        // Cannot fail: the property can be set at any time.
        try? stream.set(.readTimeout, to: options.withLock { $0.connection[.readTimeout] })
        return stream
    }

    private func write(_ transport: FTPTransport) -> WriteStream {
        let stream = WriteStream(transport: transport)
        try? stream.set(.writeTimeout, to: options.withLock { $0.connection[.writeTimeout] })
        return stream
    }

    /// Sets the library's time limit, for streams that the library reads itself, unless the client has one.
    func limited(_ stream: ReadStream) -> ReadStream {
        try? stream.set(.readTimeout, to: options.withLock { $0.connection[.readTimeout] } ?? FTPTimeLimits.idleData)
        return stream
    }

    /// Sets the library's time limit, for streams that the library writes itself, unless the client has one.
    func limited(_ stream: WriteStream) -> WriteStream {
        try? stream.set(.writeTimeout, to: options.withLock { $0.connection[.writeTimeout] } ?? FTPTimeLimits.idleData)
        return stream
    }

    @discardableResult
    private nonisolated(nonsending) func run(
        _ commands: [(String, [UInt8])]
    ) async throws(StreamError) -> FTPReply? {
        var encoded: [FTPCommand] = []
        for (verb, argument) in commands {
            encoded.append(
                try StreamError.converting { () throws(FTPError) in try FTPCommand(verb, bytes: argument) })
        }
        return try await run(.commands(encoded))[.ftpLastReply]
    }

    private nonisolated(nonsending) func run(_ job: FTPJob) async throws(StreamError) -> ReadStream {
        let transport = FTPTransport(.ftpClient, location, options: options.withLock { $0 }, loop: loop) { _ in job }
        let stream = ReadStream(transport: transport)
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

    fileprivate static func invalidDate(_ seconds: Int64) -> Sentence {
        Sentence("ftp.date", "%1 seconds since 1970 is outside the years 1 to 9999.", "\(seconds)")
    }

    fileprivate static func invalidReply(_ command: String) -> Sentence {
        Sentence("ftp.noAnswer", "The server's reply to %1 cannot be parsed.", command)
    }
}

/// The name of a file or directory on a server, as the bytes that go over the wire.
///
/// Relative to the login directory unless it begins with a slash. A string literal is encoded as UTF-8. For names from a
/// listing use the received bytes: `folder.appending(entry.nameBytes)`.
public struct FTPPath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes.
    public var bytes: [UInt8]

    /// Creates a path of bytes.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates a path of text, encoded as UTF-8.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Creates a path of text, encoded as UTF-8.
    public init(stringLiteral text: String) {
        self.init(text)
    }

    /// The path of an entry in this directory.
    public func appending(_ name: [UInt8]) -> FTPPath {
        if bytes.isEmpty { return FTPPath(bytes: name) }
        return FTPPath(bytes: bytes.last == UInt8(ascii: "/") ? bytes + name : bytes + [UInt8(ascii: "/")] + name)
    }

    /// The path as text: UTF-8, otherwise Latin-1.
    public var description: String { ListingEntry(nameBytes: bytes).name }
}

extension FTPPath {
    /// Whether an FTP URL selects text mode (`;type=a`). ``FTPClient`` reads it from the property ``FTPOptions/transfersText``.
    ///
    /// - Throws: As `ReadStream.init(ftpURL:loop:)`.
    @_spi(Packages) public static func isText(_ url: URL) throws(StreamError) -> Bool {
        try StreamError.converting { () throws(FTPError) in try FTPLocation(url).type == "a" }
    }

    /// Creates the path of an FTP URL: relative to the login directory, unless it begins with `%2F`.
    ///
    /// - Throws: As `ReadStream.init(ftpURL:loop:)`.
    public init(_ url: URL) throws(StreamError) {
        bytes = try StreamError.converting { () throws(FTPError) in try FTPLocation(url).path }
    }
}
