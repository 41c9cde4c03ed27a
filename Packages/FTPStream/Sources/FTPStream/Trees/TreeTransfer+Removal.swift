internal import FTPListing
public import StreamKit

extension FTPClient {
    /// Removes a file, or a directory with everything below it.
    ///
    /// Links are removed and not followed. What the server refuses to remove is reported, as are the directories that contain it.
    ///
    /// - Returns: The number of entries removed in ``FTPTreeReport/deleted``, and the refused ones in ``FTPTreeReport/skipped``.
    /// - Throws: The error, whose message begins with the path that failed; the server's refusal for `path` itself.
    public nonisolated(nonsending) func removeTree(_ path: FTPPath) async throws(StreamError) -> FTPTreeReport {
        let tree = TreeTransfer(client: self, options: FTPTreeOptions())
        do throws(StreamError) {
            try await remove(path)
            tree.update { $0.deleted = 1 }
        } catch  where TreeTransfer.isRefusal(error) {
            // Most servers refuse to delete a directory as a file, with codes that differ.
            let listing: FTPDirectoryListing
            do throws(StreamError) {
                listing = try await self.listing(path)
            } catch let missing {
                throw TreeTransfer.isRefusal(missing) ? error : missing
            }
            // Some servers list a file as if it were a directory with that file.
            let entries = listing.entries
            if entries.count == 1, entries[0].kind != .directory, path.bytes.hasSuffix(entries[0].nameBytes) {
                throw error
            }
            try await tree.removeDirectory(path, listing, depth: 0)
        }
        return tree.report
    }

    /// Creates a directory and those above it, unless they exist.
    ///
    /// - Throws: The server's refusal to create the directory, if it does not exist afterwards.
    public nonisolated(nonsending) func makeDirectories(_ path: FTPPath) async throws(StreamError) {
        let slash = UInt8(ascii: "/")
        var refusal: StreamError?
        for end in path.bytes.indices.dropFirst() + [path.bytes.count] {
            let isWhole = end == path.bytes.count
            guard isWhole || path.bytes[end] == slash, end > 0, path.bytes[end - 1] != slash else { continue }
            do throws(StreamError) {
                try await makeDirectory(FTPPath(bytes: Array(path.bytes[..<end])))
                refusal = nil
            } catch {
                guard TreeTransfer.isRefusal(error) else { throw error }
                refusal = error
            }
        }
        guard let refusal else { return }
        do throws(StreamError) {
            _ = try await list(path)
        } catch {
            throw TreeTransfer.isRefusal(error) ? refusal : error
        }
    }
}

extension TreeTransfer {
    /// Removes an entry of a directory, with everything below it.
    nonisolated(nonsending) func removeTree(
        _ path: FTPPath, _ kind: ListingKind, depth: Int
    ) async throws(StreamError) {
        do throws(StreamError) {
            if kind == .directory {
                try await removeDirectory(path, try await client.listing(path), depth: depth + 1)
            } else {
                try await client.remove(path)
                update { $0.deleted += 1 }
            }
        } catch {
            try handle(error, path, filling: .none)
        }
    }

    nonisolated(nonsending) func removeDirectory(
        _ path: FTPPath, _ listing: FTPDirectoryListing, depth: Int
    ) async throws(StreamError) {
        // The server refuses to remove a directory that is not empty.
        update { $0.skip(path, listing.unread) }
        guard depth < FTPTreeReport.maximumDepth else { return update { $0.skip(path.description, .tooDeep) } }
        for entry in listing.entries {
            guard let name = entry.pathComponent else {
                update { $0.skip(path.appending(entry.nameBytes).description, .unsafeName) }
                continue
            }
            try await removeTree(path.appending(name), entry.kind, depth: depth)
        }
        try await client.removeDirectory(path)
        update { $0.deleted += 1 }
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ name: [UInt8]) -> Bool { suffix(name.count).elementsEqual(name) }
}
