internal import StreamKit

/// A transfer of a tree under way.
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
        var waiting = WaitingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
        while let place = waiting.take() {
            let entries: [ListingEntry]
            do throws(StreamError) {
                entries = try await client.list(place.remote)
            } catch {
                try judge(error, place.remote, isAll: place.depth == 0)
                continue  // what cannot be listed is not made here
            }
            try LocalFolder.make(place.local, isOutermost: place.depth == 0)
            report.directories += 1
            for entry in entries {
                let remote = place.remote.appending(entry.nameBytes)
                // Names in another encoding than UTF-8 are written as what they are shown as.
                guard entry.pathComponent != nil, entry.name.utf8.count <= 255 else {
                    report.skip(remote.description, .unsafeName)
                    continue
                }
                let local = place.local + "/" + entry.name
                switch entry.kind {
                case .directory where place.depth < FTPTreeReport.depthLimit:
                    let directory = TreeDirectory(remote: remote, local: local, depth: place.depth + 1)
                    if !waiting.add(directory) { report.skip(remote.description, .tooMany) }
                case .directory: report.skip(remote.description, .tooDeep)
                case .file:
                    do throws(StreamError) {
                        try await fetch(remote, to: local, size: entry.isSizeExact ? entry.size : nil)
                    } catch {
                        try judge(error, remote)
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
        if options.resumes, let size, let there = LocalFile.size(of: local), there <= size {
            if there == size {
                report.unchanged += 1
                return
            }
            offset = there
        }
        let stream = client.limited(client.reader(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        try await stream.opened()  // a file that cannot be had is not made here
        let target = try LocalFile(writing: local, keeping: offset)
        var total = offset
        tell(remote, total, size)
        while true {
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            try target.write(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            report.bytes += UInt64(count)
            tell(remote, total, size)
        }
        report.files += 1
    }

    // MARK: Uploads

    nonisolated(nonsending) mutating func upload(
        _ folder: String, to path: FTPPath
    ) async throws(StreamError) {
        var waiting = WaitingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
        while let place = waiting.take() {
            let contents = try LocalFolder.contents(of: place.local)
            let sizes: [[UInt8]: UInt64]
            do throws(StreamError) {
                sizes = try await prepare(place.remote)
            } catch {
                try judge(error, place.remote, isAll: place.depth == 0)
                continue
            }
            report.directories += 1
            for (name, kind) in contents {
                let remote = place.remote.appending(Array(name.utf8))
                let local = place.local + "/" + name
                switch kind {
                case .directory where place.depth < FTPTreeReport.depthLimit:
                    let directory = TreeDirectory(remote: remote, local: local, depth: place.depth + 1)
                    if !waiting.add(directory) { report.skip(local, .tooMany) }
                case .directory: report.skip(local, .tooDeep)
                case .file:
                    do throws(StreamError) {
                        try await send(local, to: remote, there: sizes[Array(name.utf8)])
                    } catch {
                        try judge(error, remote)
                    }
                case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown: report.skip(local, .notAFile)
                }
            }
        }
    }

    /// Makes a directory on the server, or finds it there; how long its files are, if that matters.
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
                // It was not there already: why it could not be made is what counts.
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
        _ local: String, to remote: FTPPath, there: UInt64?
    ) async throws(StreamError) {
        let size = LocalFile.size(of: local)
        var offset: UInt64 = 0
        if let there, let size, there <= size {
            if there == size {
                report.unchanged += 1
                return
            }
            offset = there
        }
        let source = try LocalFile(reading: local, from: offset)
        let stream = client.limited(client.writer(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        var total = offset
        tell(remote, total, size)
        while true {
            let count = try source.read(into: &buffer)
            if count == 0 { break }
            try await stream.writeAll(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            report.bytes += UInt64(count)
            tell(remote, total, size)
        }
        try await stream.finish()
        report.files += 1
    }

    // MARK: Both

    /// Notes what the server refuses of one file or directory; throws all else.
    private mutating func judge(
        _ error: StreamError, _ path: FTPPath, isAll: Bool = false
    ) throws(StreamError) {
        let reply = (error.underlying as? FTPError).flatMap { $0.code == .refused ? $0.reply : nil }
        if !isAll, let reply, TreeTransfer.concernsOneFile.contains(reply.code) {
            return report.skip(path.description, .refused(reply))
        }
        if error == .cancelled { throw error }
        throw StreamError(
            domain: error.domain, code: error.code,
            sentence: Sentence("ftp.tree", "%1: %2", path.description, error.description), underlying: error.underlying)
    }

    /// The file is busy, is not there or may not be had, or its name is not allowed. A full disk (452, 552) concerns all.
    private static let concernsOneFile: Set<Int> = [450, 550, 553]

    private func tell(_ path: FTPPath, _ count: UInt64, _ size: UInt64?) {
        options.progress?(FTPTreeProgress(path: path.description, count: count, size: size, report: report))
    }
}
