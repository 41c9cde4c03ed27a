internal import FTPListing
@_spi(Packages) internal import StreamKit

extension TreeTransfer {
    /// Downloads a directory with everything below it.
    nonisolated(nonsending) func download(_ path: FTPPath, to folder: String) async throws(StreamError) {
        try await withWorkers { workers throws(StreamError) in
            var root: LocalFolder?
            var pending = PendingDirectories(TreeDirectory(remote: path, local: [], depth: 0))
            while let directory = pending.take() {
                let (listing, local): (FTPDirectoryListing, LocalFolder)
                do throws(StreamError) {
                    // If the server refuses the directory, no local folder is created for it.
                    listing = try await self.client.listing(directory.remote)
                    local = try await self.onDisk { [root] () throws(StreamError) in
                        guard let root else { return try LocalFolder.root(folder, creates: true) }
                        return try root.folder(at: directory.local, creates: true)
                    }
                } catch {
                    try self.handle(error, directory.remote, filling: .local, isRoot: directory.depth == 0)
                    continue
                }
                root = root ?? local
                try await self.take(listing, directory, local, &pending, &workers)
            }
        }
    }

    private nonisolated(nonsending) func take(
        _ listing: FTPDirectoryListing, _ directory: TreeDirectory, _ folder: LocalFolder,
        _ pending: inout PendingDirectories, _ workers: inout Workers
    ) async throws(StreamError) {
        update { report in
            report.directories += 1
            report.filesFound += listing.entries.count { $0.kind == .file }
            report.skip(directory.remote, listing.unread)
        }
        // A line that was not read may stand for any of the local files.
        if options.deletes, listing.isComplete {
            try await deleteLocally(in: folder, except: listing.entries, directory.remote)
        }
        for entry in listing.entries { try await take(entry, directory, folder, &pending, &workers) }
    }

    private nonisolated(nonsending) func take(
        _ entry: ListingEntry, _ directory: TreeDirectory, _ folder: LocalFolder,
        _ pending: inout PendingDirectories, _ workers: inout Workers
    ) async throws(StreamError) {
        let remote = directory.remote.appending(entry.nameBytes)
        // Names that are not UTF-8 are converted from Latin-1.
        let name = Array(entry.name.utf8)
        let permitsHidden = directory.depth > 0 || options.permitsHiddenNames
        guard entry.pathComponent != nil, LocalFileName.refusal(of: name, permitsHidden: permitsHidden) == nil else {
            return update { $0.skip(remote.description, .unsafeName) }
        }
        switch entry.kind {
        case .directory where directory.depth < FTPTreeReport.maximumDepth:
            if !pending.add(directory.child(remote, name)) { update { $0.skip(remote.description, .tooMany) } }
        case .directory: update { $0.skip(remote.description, .tooDeep) }
        // Facts without a type, or with one that cannot be read, cost only the type: the server tells whether it is a file.
        case .file,
            .unknown where entry.format == .facts:
            try await perform(&workers) { () throws(StreamError) in
                do throws(StreamError) {
                    try await self.fetch(entry, remote, to: folder)
                } catch {
                    try self.handle(error, remote, filling: .local)
                }
            }
        case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
            update { $0.skip(remote.description, .notAFile) }
        }
    }

    private func fetch(_ entry: ListingEntry, _ remote: FTPPath, to folder: LocalFolder) async throws(StreamError) {
        let (size, name) = (entry.isSizeExact ? entry.size : nil, Array(entry.name.utf8))
        let options = options
        let (existing, available) = try await self.onDisk { () throws(StreamError) in
            (
                options.resumes || options.onlyNewer ? folder.file(name) : nil,
                options.resumes ? size.flatMap { folder.progress(of: name, size: $0) } : nil
            )
        }
        if options.resumes, let size, existing?.size == size { return update { $0.unchanged += 1 } }
        var date: Int64?
        if options.onlyNewer || options.keepsDates { date = try await self.date(of: remote, listed: entry.date) }
        if options.onlyNewer, let date, let existing, existing.size == size, existing.date >= date {
            return update { $0.unchanged += 1 }
        }
        // If the server refuses the file, no local file is created.
        let (stream, offset) = try await opened(at: available?.count ?? 0) {
            self.client.limited(self.client.reader(remote, offset: $0))
        }
        defer { stream.close() }
        let progress = offset == 0 ? nil : available
        let target = try await self.onDisk { () throws(StreamError) in
            try folder.target(entry.name, continuing: progress)
        }
        do throws(StreamError) {
            try await receive(stream, remote, from: offset, size, into: target)
            let hasDate = try await self.onDisk { [date] () throws(StreamError) in
                try target.finish(date: options.keepsDates ? date : nil)
            }
            noteTransfer()
            update { report in
                report.files += 1
                if options.keepsDates, !hasDate { report.datesLost += 1 }
            }
        } catch {
            // With `resumes`, the next transfer continues it. A task of its own, since this one may have been cancelled.
            let keepsPartial = options.resumes
            await Task {
                try? await self.diskThreads.value(until: .now + TreeTransfer.abandonTimeout) {
                    target.abandon(keepsPartial: keepsPartial)
                }
            }.value
            throw error
        }
    }

    /// The longest wait for a disk after a download that has failed.
    private static let abandonTimeout = Duration.seconds(2)

    private func receive(
        _ stream: ReadStream, _ remote: FTPPath, from offset: UInt64, _ size: UInt64?, into target: LocalTarget
    ) async throws(StreamError) {
        var total = offset
        reportProgress(remote, total, size)
        while true {
            // A read notices a cancellation only if it has to wait, and a fast server never lets it.
            if Task.isCancelled { throw .cancelled }
            let bytes = try await stream.read(upTo: ReadStream.chunkSize)
            if bytes.isEmpty { break }
            try await self.onDisk { () throws(StreamError) in try target.write(bytes[...]) }
            total += UInt64(bytes.count)
            update { $0.bytes += UInt64(bytes.count) }
            reportProgress(remote, total, size)
        }
        if let size, total < size { throw StreamError(.incomplete(total, of: size)) }
    }

    /// Deletes what the server's directory does not have.
    private nonisolated(nonsending) func deleteLocally(
        in folder: LocalFolder, except entries: [ListingEntry], _ remote: FTPPath
    ) async throws(StreamError) {
        var names = Set(entries.map { Array($0.name.utf8) })
        if options.resumes { names.formUnion(names.map { $0 + Array(LocalFolder.partialSuffix.utf8) }) }
        for (name, _) in try await contents(of: folder) where !names.contains(name) {
            do throws(StreamError) {
                try await remove(name, in: folder)
            } catch {
                try handle(error, remote.appending(name), filling: .local)
            }
        }
    }
}
