import ArgumentParser
import Foundation
import NetKit

/// `netkit put`: sends a file or a tree.
struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Sends a file, or a whole folder, to an FTP server.",
        discussion: """
            Examples:
              netkit put notes.txt ftp://ann@ftp.example.org/notes.txt
              netkit put --resume film.mkv ftp://ann@ftp.example.org/films/
              netkit put -r photos ftp://ann@ftp.example.org/attic/

            With a URL that ends in a slash, the file or folder keeps its name. Done means that the server said so.
            """)

    @Argument(help: ArgumentHelp("What to send.", valueName: "FILE"))
    var file: String

    @Argument(help: "Where to.")
    var url: String

    @Flag(name: [.customShort("r"), .long], help: "Send a folder with all that is in it; links are left out.")
    var recursive = false

    @Flag(help: "Go on where the server's file ends; with -r, where each file does.")
    var resume = false

    @OptionGroup var target: FTPTarget

    func run() async throws {
        var (client, path) = try await target.client(url)
        if url.hasSuffix("/") {
            let name = URL(fileURLWithPath: file).standardizedFileURL.lastPathComponent
            path = path.appending(Array(name.utf8))
        }
        try await target.run(["url": JSONOutput.url(url), "file": file]) { [client, path] in
            var isFolder: ObjCBool = false
            if let failure = OutputFile.Failure(reading: file) { throw failure }
            _ = FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
            switch (isFolder.boolValue, recursive) {
            case (true, true):
                let progress = TreeProgress(resumes: resume)
                return try progress.finish(try await client.upload(file, to: path, progress.options))
            case (false, false): return try await send(client, path)
            case (true, false): throw OutputFile.Failure(description: "\(file) is a folder; -r sends it.")
            case (false, true): throw OutputFile.Failure(description: "\(file) is no folder; leave out -r.")
            }
        }
    }

    private func send(_ client: FTPClient, _ path: FTPPath) async throws -> JSONOutput.Facts {
        let total = OutputFile.size(of: file)
        let offset = resume ? Int64(clamping: try await size(client, path)) : 0
        guard offset <= total else {
            throw OutputFile.Failure(description: "\(file) is shorter than what the server has of it.")
        }
        var facts: JSONOutput.Facts = ["path": path.description, "offset": offset, "bytes": Int64(0)]
        if resume, offset == total, total > 0 {
            Terminal.say("netkit: \(file) is complete there already.")
            return facts
        }
        let source = ReadStream(path: file)
        try source.open()
        try source.set(.fileOffset, to: UInt64(offset))
        let stream = client.writer(path, offset: UInt64(offset))
        defer { stream.close() }
        try stream.open()
        var progress = Terminal.isInteractive ? ProgressBar(total: total, offset: offset) : nil
        var sent = offset
        for try await chunk in source.chunks() {
            try await stream.writeAll(chunk)
            sent += Int64(chunk.count)
            progress?.show(sent)
        }
        try await stream.finish()
        progress?.finish(sent)
        facts["bytes"] = sent - offset
        return facts
    }

    /// How much the server has; 0 if there is nothing yet.
    private func size(_ client: FTPClient, _ path: FTPPath) async throws -> UInt64 {
        do throws(StreamError) {
            return try await client.size(of: path)
        } catch {
            if error.domain == .ftp, error.code == 550 { return 0 }
            throw error
        }
    }
}
