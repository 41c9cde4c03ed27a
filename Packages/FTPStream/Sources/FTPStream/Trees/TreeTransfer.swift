internal import StreamKit

/// A running transfer of a tree.
struct TreeTransfer {
    let client: FTPClient
    let options: FTPTreeOptions
    private(set) var report = FTPTreeReport()
    private var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)

    init(client: FTPClient, options: FTPTreeOptions) {
        self.client = client
        self.options = options
    }

    // MARK: Downloads

    nonisolated(nonsending) mutating func download(
        _ path: FTPPath, to folder: String
    ) async throws(StreamError) {
        var pending = PendingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
        while let directory = pending.take() {
            let entries: [ListingEntry]
            do throws(StreamError) {
                entries = try await client.list(directory.remote)
            } catch {
                try handle(error, directory.remote, isRoot: directory.depth == 0)
                continue  // no local folder is created for it
            }
            try LocalFolder.make(directory.local, isRoot: directory.depth == 0)
            report.directories += 1
            for entry in entries {
                let remote = directory.remote.appending(entry.nameBytes)
                // Names that are not UTF-8 are converted from Latin-1, which may make them longer than 255 bytes.
                guard entry.pathComponent != nil, entry.name.utf8.count <= 255 else {
                    report.skip(remote.description, .unsafeName)
                    continue
                }
                let local = directory.local + "/" + entry.name
                switch entry.kind {
                case .directory where directory.depth < FTPTreeReport.depthLimit:
                    let child = TreeDirectory(remote: remote, local: local, depth: directory.depth + 1)
                    if !pending.add(child) { report.skip(remote.description, .tooMany) }
                case .directory: report.skip(remote.description, .tooDeep)
                case .file:
                    do throws(StreamError) {
                        try await fetch(remote, to: local, size: entry.isSizeExact ? entry.size : nil)
                    } catch {
                        try handle(error, remote)
                    }
                case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
                    report.skip(remote.description, .notAFile)
                }
            }
        }
    }

    private nonisolated(nonsending) mutating func fetch(
        _ remote: FTPPath, to local: String, size: UInt64?
    ) async throws(StreamError) {
        var offset: UInt64 = 0
        if options.resumes, let size, let existing = LocalFile.size(of: local), existing <= size {
            if existing == size {
                report.unchanged += 1
                return
            }
            offset = existing
        }
        let stream = client.limited(client.reader(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        try await stream.opened()  // if the server refuses the file, no local file is created
        let target = try LocalFile(writing: local, keeping: offset)
        var total = offset
        reportProgress(remote, total, size)
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            try target.write(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            report.bytes += UInt64(count)
            reportProgress(remote, total, size)
        }
        report.files += 1
    }

    // MARK: Uploads

    nonisolated(nonsending) mutating func upload(
        _ folder: String, to path: FTPPath
    ) async throws(StreamError) {
        var pending = PendingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
        while let directory = pending.take() {
            let contents = try LocalFolder.contents(of: directory.local)
            let sizes: [[UInt8]: UInt64]
            do throws(StreamError) {
                sizes = try await prepare(directory.remote)
            } catch {
                try handle(error, directory.remote, isRoot: directory.depth == 0)
                continue
            }
            report.directories += 1
            for (name, kind) in contents {
                let remote = directory.remote.appending(Array(name.utf8))
                let local = directory.local + "/" + name
                switch kind {
                case .directory where directory.depth < FTPTreeReport.depthLimit:
                    let child = TreeDirectory(remote: remote, local: local, depth: directory.depth + 1)
                    if !pending.add(child) { report.skip(local, .tooMany) }
                case .directory: report.skip(local, .tooDeep)
                case .file:
                    do throws(StreamError) {
                        try await send(local, to: remote, existing: sizes[Array(name.utf8)])
                    } catch {
                        try handle(error, remote)
                    }
                case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown: report.skip(local, .notAFile)
                }
            }
        }
    }

    /// Creates a directory on the server, unless it exists.
    ///
    /// - Returns: The sizes of the files in it by name, if the transfer resumes; otherwise empty.
    private nonisolated(nonsending) func prepare(
        _ path: FTPPath
    ) async throws(StreamError) -> [[UInt8]: UInt64] {
        do throws(StreamError) {
            try await client.makeDirectory(path)
            return [:]
        } catch  where TreeTransfer.isRefusal(error) {
            let entries: [ListingEntry]
            do throws(StreamError) {
                entries = try await client.list(path)
            } catch let missing {
                // The directory does not exist, so the reason why it cannot be created is the error to report.
                throw TreeTransfer.isRefusal(missing) ? error : missing
            }
            guard options.resumes else { return [:] }
            let files = entries.filter { $0.kind == .file && $0.isSizeExact }
            return Dictionary(files.compactMap { entry in entry.size.map { (entry.nameBytes, $0) } }) { $1 }
        }
    }

    private static func isRefusal(_ error: StreamError) -> Bool {
        (error.underlying as? FTPError)?.code == .refused
    }

    private nonisolated(nonsending) mutating func send(
        _ local: String, to remote: FTPPath, existing: UInt64?
    ) async throws(StreamError) {
        let size = LocalFile.size(of: local)
        var offset: UInt64 = 0
        if let existing, let size, existing <= size {
            if existing == size {
                report.unchanged += 1
                return
            }
            offset = existing
        }
        let source = try LocalFile(reading: local, from: offset)
        let stream = client.limited(client.writer(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        var total = offset
        reportProgress(remote, total, size)
        while true {
            let count = try source.read(into: &buffer)
            if count == 0 { break }
            try await stream.writeAll(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            report.bytes += UInt64(count)
            reportProgress(remote, total, size)
        }
        try await stream.finish()
        report.files += 1
    }

    // MARK: Errors and progress

    /// Reports a file or directory that the server refuses; throws any other error.
    private mutating func handle(
        _ error: StreamError, _ path: FTPPath, isRoot: Bool = false
    ) throws(StreamError) {
        let reply = (error.underlying as? FTPError).flatMap { $0.code == .refused ? $0.reply : nil }
        if !isRoot, let reply, TreeTransfer.concernsOneFile.contains(reply.code) {
            return report.skip(path.description, .refused(reply))
        }
        if error == .cancelled { throw error }
        throw StreamError(
            domain: error.domain, code: error.code,
            sentence: Sentence("ftp.tree", "%1: %2", path.description, error.description), underlying: error.underlying)
    }

    /// The codes for a file that is busy, missing or not accessible, or whose name is not allowed. A full disk (452, 552)
    /// concerns all files.
    private static let concernsOneFile: Set<Int> = [450, 550, 553]

    private func reportProgress(_ path: FTPPath, _ count: UInt64, _ size: UInt64?) {
        options.progress?(FTPTreeProgress(path: path.description, count: count, size: size, report: report))
    }
}

/// A directory of a tree on the server and its local folder.
struct TreeDirectory: Sendable, Hashable {
    var remote: FTPPath
    var local: String
    /// 0 for the root of the tree.
    var depth: Int

    /// The approximate memory in bytes: twice its stride, since two arrays exist while one grows, and both paths, each with a
    /// header and the allocator's overhead.
    var size: Int { 2 * MemoryLayout<Self>.stride + remote.bytes.count + local.utf8.count + 2 * 48 }
}

/// The directories of a tree that are found and not yet entered, in a bounded amount of memory. The last one found is the first
/// to be entered.
struct PendingDirectories {
    private var directories: [TreeDirectory]
    private var size: Int
    private let limit: Int

    /// Creates the list with the root of the tree, which does not count towards the limit.
    init(_ root: TreeDirectory, limit: Int = FTPTreeReport.waitingLimit) {
        directories = [root]
        size = root.size
        self.limit = limit + size
    }

    /// Adds a directory.
    ///
    /// - Returns: False if there is no room for it.
    mutating func add(_ directory: TreeDirectory) -> Bool {
        guard directory.size <= limit - size else { return false }
        size += directory.size
        directories.append(directory)
        return true
    }

    /// Removes the directory to enter next; nil if there is none.
    mutating func take() -> TreeDirectory? {
        guard let next = directories.popLast() else { return nil }
        size -= next.size
        return next
    }
}
