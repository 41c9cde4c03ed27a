import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

extension GetCommand {
    /// Downloads a file, the raw listing of a directory, or a directory tree by FTP.
    func runFTP(
        _ url: String, _ destination: OutputDestination, _ proxies: ProxySettings, _ clients: FTPClients
    ) async throws {
        let pattern = FTPWildcards.pattern(of: url)
        guard let address = pattern == nil ? URL(string: url) : FTPWildcards.server(of: url) else {
            throw URLArgument.Invalid(url)
        }
        let facts: JSONOutput.Facts? = self.output.json ? ["url": JSONOutput.url(url)] : nil
        let (client, path): (FTPClient, FTPPath)
        do {
            try URLArgument.checkEscapes(url)
            path = try FTPPath(address)
            client = try await clients.client(for: address) { [ftp, login, connection] in
                try ftp.client(address, user: login.user, netrc: login.netrc, connection: connection)
            }
        } catch {
            try FTPTarget.end(error, facts)
        }
        try await FTPTarget.run(facts, within: limits.timeout) {
            try await client.apply(proxies, for: address)
            if let pattern { return try await fetchMatches(pattern, client, url, destination) }
            if recursive { return try await fetchTree(client, path, address, url, destination.path) }
            return try await fetchFile(client, path, destination, isDirectory: FTPOptions.isDirectory(address))
        }
    }

    private func fetchFile(
        _ client: FTPClient, _ path: FTPPath, _ destination: OutputDestination, isDirectory: Bool
    ) async throws -> JSONOutput.Facts {
        let output = destination.path
        try client.set(.ftp(\.fetchesResourceInfo), to: true)
        let isDirectory = isDirectory || path.bytes.isEmpty
        // A listing has no parts.
        var offset: Int64 = 0
        if resume, !isDirectory, let output {
            offset = try await BlockingThreads.files(at: output).call { OutputFile.partialSize(of: output) }
        }
        var stream = isDirectory ? client.lister(path) : client.reader(path, offset: UInt64(offset))
        func end(_ stream: ReadStream) {
            if self.output.report { Terminal.say(ShownText(lines: stream.report.description)) }
            stream.close()
        }
        defer { end(stream) }
        do throws(StreamError) {
            try stream.open()
            try await stream.opened()
        } catch {
            guard offset > 0, (error.underlying as? FTPError)?.refusesOffset == true else { throw error }
            // As for a server of HTTP without ranges, the whole replaces the part.
            end(stream)
            (stream, offset) = (client.reader(path), 0)
            try stream.open()
            try await stream.opened()
        }
        let limit = try limits.maximumSize() ?? .max
        if let size = stream[.ftpResourceSize], size > limit { throw OutputFile.Failure.tooLarge(limit) }
        let file = if let output { try await destination.open(output, keeping: offset) } else { OutputFile() }
        let discardsBody = self.output.json && output == nil
        let isShown = !self.output.silent && Terminal.isInteractive && (output != nil || !Terminal.showsOutput)
        var progress =
            isShown ? ProgressBar(total: stream[.ftpResourceSize].map(Int64.init(clamping:)), offset: offset) : nil
        var count = offset
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while true {
            let moved = try await stream.read(into: &buffer)
            if moved == 0 { break }
            if !discardsBody { try await file.write(buffer, count: moved) }
            count += Int64(moved)
            if count > limit { throw OutputFile.Failure.tooLarge(limit) }
            progress?.show(count)
        }
        progress?.finish(count)
        try await file.finish()
        return ["bytes": count - offset, "offset": offset, "steps": JSONOutput.steps(stream.report)]
    }

    private func fetchTree(
        _ client: FTPClient, _ path: FTPPath, _ address: URL, _ url: String, _ output: String?
    ) async throws -> JSONOutput.Facts {
        let name = path.bytes.split(separator: UInt8(ascii: "/")).last.map { ListingEntry(nameBytes: Array($0)) }
        // The name comes from the command line, but may hide `..` as `%2e%2e`.
        let folder = output ?? (name.map { $0.pathComponent == nil ? nil : $0.name } ?? address.host())
        guard let folder else {
            throw ValidationError("'\(Terminal.shownURL(url))' has no valid folder name; use -o FOLDER.")
        }
        return try await fetchTree(client, path, to: folder)
    }

    private func fetchTree(_ client: FTPClient, _ path: FTPPath, to folder: String) async throws -> JSONOutput.Facts {
        let progress = TreeProgress(tree.options(resumes: resume))
        return try await progress.track(isUpload: false) {
            try await client.download(path, to: folder, progress.options)
        }
    }

    /// Downloads all files that match, with -r folders, too, under their own names.
    private func fetchMatches(
        _ pattern: FTPPattern, _ client: FTPClient, _ url: String, _ destination: OutputDestination
    ) async throws -> JSONOutput.Facts {
        let folder = self.output.remoteName ? self.output.outputDir ?? "." : destination.path ?? "."
        var files: [JSONOutput.Facts] = []
        let unread = UnreadReport()
        let matches = try await FTPWildcards.matches(pattern, of: url, client, unread)
        var skipped = SkippedMatches(of: matches.count)
        for match in matches {
            guard let entry = match.entry else { continue }
            if let refusal = LocalFileName.refusal(of: entry.name.utf8, permitsHidden: tree.hidden) {
                skipped.skip(match.path, "\(refusal); use -o FILE.")
                continue
            }
            let target = "\(folder)/\(entry.name)"
            if entry.kind != .directory {
                var file = destination
                file.path = target
                let facts = try await skipped.facts(of: match.path) {
                    try await fetchFile(client, match.path, file, isDirectory: false)
                }
                if let facts { files.append(["path": target, "bytes": facts["bytes"] ?? 0]) }
            } else if recursive {
                let facts = try await skipped.facts(of: match.path) {
                    try await fetchTree(client, match.path, to: target)
                }
                if let facts { files.append(facts.merging(["path": target]) { $1 }) }
            } else {
                Terminal.say("netkit: skipped \(match.path): it is a folder; add -r.")
            }
        }
        return try skipped.checked(["files": files], unread)
    }
}
