public import StreamKit

/// Whole trees, one file after the other on one session.
extension FTPClient {
    /// Fetches everything in a directory and below it.
    ///
    /// ```swift
    /// let report = try await client.download("pub/photos", to: "/home/ann/photos")
    /// print(report.files, report.skipped)
    /// ```
    ///
    /// The server names what is written, so its names are not trusted: one that is no single name here is skipped and reported.
    /// Links are neither followed nor made, on either side; files are replaced. The first failure ends it, with everything
    /// before it in place.
    ///
    /// - Parameters:
    ///   - path: a directory on the server.
    ///   - folder: where its contents go; made if its parent is there.
    public nonisolated(nonsending) func download(
        _ path: FTPPath, to folder: String
    ) async throws(StreamError) -> FTPTreeReport {
        var report = FTPTreeReport()
        var waiting = [(remote: path, local: folder, depth: 0)]
        while let (remote, local, depth) = waiting.popLast() {
            try LocalFolder.make(local, isOutermost: depth == 0)
            report.directories += 1
            for entry in try await list(remote) {
                let place = remote.appending(entry.nameBytes)
                guard let name = entry.pathComponent.flatMap({ String(validating: $0, as: UTF8.self) }) else {
                    report.skip(place.description, .unsafeName)
                    continue
                }
                switch entry.kind {
                case .directory where depth < FTPTreeReport.depthLimit:
                    waiting.append((place, local + "/" + name, depth + 1))
                case .file:
                    report.bytes += try await download(file: place, to: local + "/" + name)
                    report.files += 1
                case .directory, .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
                    report.skip(place.description, .notAFile)
                }
            }
        }
        return report
    }

    /// Sends everything in a folder and below it.
    ///
    /// - Parameters:
    ///   - folder: a folder here; links in it are skipped and reported.
    ///   - path: a directory on the server; made, as those below it, unless it is there.
    public nonisolated(nonsending) func upload(
        _ folder: String, to path: FTPPath
    ) async throws(StreamError) -> FTPTreeReport {
        var report = FTPTreeReport()
        var waiting = [(local: folder, remote: path, depth: 0)]
        while let (local, remote, depth) = waiting.popLast() {
            let contents = try LocalFolder.contents(of: local)
            do throws(StreamError) {
                try await makeDirectory(remote)
            } catch  where (error.underlying as? FTPError)?.code == .refused {
                _ = try await list(remote)  // there already, or this says what is wrong
            }
            report.directories += 1
            for (name, kind) in contents {
                let (source, target) = (local + "/" + name, remote.appending(Array(name.utf8)))
                switch kind {
                case .directory where depth < FTPTreeReport.depthLimit: waiting.append((source, target, depth + 1))
                case .file:
                    report.bytes += try await upload(file: source, to: target)
                    report.files += 1
                case .directory, .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
                    report.skip(source, .notAFile)
                }
            }
        }
        return report
    }

    private nonisolated(nonsending) func download(
        file path: FTPPath, to local: String
    ) async throws(StreamError) -> UInt64 {
        let stream = reader(path)
        defer { stream.close() }
        try stream.open()
        try await stream.opened()  // a file that cannot be had is not made here
        let target = try LocalFolder.create(local)
        defer { target.close() }
        try target.open()
        return try await copy(stream, target.output)
    }

    private nonisolated(nonsending) func upload(
        file local: String, to path: FTPPath
    ) async throws(StreamError) -> UInt64 {
        let source = ReadStream(path: local)
        defer { source.close() }
        try source.open()
        let stream = writer(path)
        defer { stream.close() }
        try stream.open()
        let count = try await copy(source, stream)
        try await stream.finish()
        return count
    }

    private nonisolated(nonsending) func copy(
        _ source: ReadStream, _ target: WriteStream
    ) async throws(StreamError) -> UInt64 {
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        var total: UInt64 = 0
        while true {
            let count = try await source.read(into: &buffer)
            if count == 0 { return total }
            try await target.writeAll(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
        }
    }
}
