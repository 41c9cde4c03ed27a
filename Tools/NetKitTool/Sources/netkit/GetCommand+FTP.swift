import ArgumentParser
import Foundation
import NetKit

extension GetCommand {
    /// Fetches a file by FTP, a listing as it comes, or a whole tree.
    func runFTP() async throws {
        guard let address = URL(string: url) else { throw ValidationError("'\(Terminal.shownURL(url))' is no URL.") }
        let facts: JSONOutput.Facts? = json ? ["url": JSONOutput.url(url)] : nil
        let (client, path): (FTPClient, FTPPath)
        do {
            (client, path) = try await ftp.client(
                address, user: login.user, netrc: login.netrc, connection: connection, timeout: timeout)
        } catch {
            try FTPTarget.end(error, facts)
        }
        try await FTPTarget.run(facts) {
            if recursive { return try await fetchTree(client, path, address) }
            return try await fetchFile(client, path, isDirectory: address.path().hasSuffix("/"))
        }
    }

    private func fetchFile(
        _ client: FTPClient, _ path: FTPPath, isDirectory: Bool
    ) async throws -> JSONOutput.Facts {
        try client.set(.ftpFetchesResourceInfo, to: true)
        let offset = resume ? output.map(OutputFile.size(of:)) ?? 0 : 0
        let stream =
            isDirectory || path.bytes.isEmpty ? client.lister(path) : client.reader(path, offset: UInt64(offset))
        defer {
            if report { Terminal.say(ShownText(lines: stream.report.description)) }
            stream.close()
        }
        try stream.open()
        try await stream.opened()
        let file = if let output { try OutputFile(path: output, keeping: offset) } else { OutputFile() }
        let discardsBody = json && output == nil
        let isShown = Terminal.isInteractive && (output != nil || !Terminal.showsOutput)
        var progress =
            isShown ? ProgressBar(total: stream[.ftpResourceSize].map(Int64.init(clamping:)), offset: offset) : nil
        var count = offset
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while true {
            let moved = try await stream.read(into: &buffer)
            if moved == 0 { break }
            if !discardsBody { try file.write(buffer.span.bytes.extracting(..<moved)) }
            count += Int64(moved)
            progress?.show(count)
        }
        progress?.finish(count)
        return ["bytes": count - offset, "offset": offset, "steps": JSONOutput.steps(stream.report)]
    }

    private func fetchTree(
        _ client: FTPClient, _ path: FTPPath, _ address: URL
    ) async throws -> JSONOutput.Facts {
        let name = path.bytes.split(separator: UInt8(ascii: "/")).last.map { ListingEntry(nameBytes: Array($0)) }
        // The name comes from the command line, but `%2e%2e` is not seen at once.
        let folder = output ?? (name.map { $0.pathComponent == nil ? nil : $0.name } ?? address.host())
        guard let folder else {
            throw ValidationError("'\(Terminal.shownURL(url))' names no folder here; write -o FOLDER.")
        }
        let progress = TreeProgress(resumes: resume)
        return try progress.finish(try await client.download(path, to: folder, progress.options))
    }
}
