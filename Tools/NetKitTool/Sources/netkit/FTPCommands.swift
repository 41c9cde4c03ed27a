import ArgumentParser
import Foundation
import NetKit

/// `netkit mkdir`: makes a directory.
struct MakeDirectoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mkdir", abstract: "Makes a directory on an FTP server; its parent must exist.")

    @Argument(help: "The URL of the new directory.")
    var url: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, path) = try target.client(url)
        try await target.run { try await client.makeDirectory(path) }
    }
}

/// `netkit rm`: removes a file, or a directory whose URL ends in a slash.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes a file on an FTP server; an empty directory if the URL ends in a slash.")

    @Argument(help: "What to remove.")
    var url: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, path) = try target.client(url)
        let isDirectory = url.hasSuffix("/")
        try await target.run {
            if isDirectory { try await client.removeDirectory(path) } else { try await client.remove(path) }
        }
    }
}

/// `netkit mv`: gives a file another name.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Renames a file or directory on an FTP server.",
        discussion: "Example: netkit mv ftp://ann@ftp.example.org/old.txt attic/new.txt")

    @Argument(help: "The URL of what is renamed.")
    var url: String

    @Argument(help: ArgumentHelp("Its new path on the same server.", valueName: "PATH"))
    var path: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, old) = try target.client(url)
        let new = FTPPath(path)
        try await target.run { try await client.rename(old, to: new) }
    }
}

/// `netkit put`: sends a file.
struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Sends a file to an FTP server.",
        discussion: """
            Examples:
              netkit put notes.txt ftp://ann@ftp.example.org/notes.txt
              netkit put --resume --tls required film.mkv ftp://ann@ftp.example.org/films/

            With a URL that ends in a slash, the file keeps its name. Done means that the server said so.
            """)

    @Argument(help: ArgumentHelp("The file to send.", valueName: "FILE"))
    var file: String

    @Argument(help: "Where to.")
    var url: String

    @Flag(help: "Go on where the server's file ends.")
    var resume = false

    @OptionGroup var target: FTPTarget

    func run() async throws {
        var (client, path) = try target.client(url)
        if url.hasSuffix("/") { path = path.appending(Array(URL(fileURLWithPath: file).lastPathComponent.utf8)) }
        let showsProgress = Terminal.isInteractive
        try await target.run { [client, path, file, resume] in
            guard FileManager.default.isReadableFile(atPath: file) else {
                throw OutputFile.Failure(description: "\(file) cannot be read.")
            }
            let total = OutputFile.size(of: file)
            let offset = resume ? Int64(clamping: (try? await client.size(of: path)) ?? 0) : 0
            guard offset <= total else {
                throw OutputFile.Failure(description: "\(file) is shorter than what the server has of it.")
            }
            if resume, offset == total, total > 0 { return Terminal.say("netkit: \(file) is complete there already.") }
            let source = ReadStream(path: file)
            try source.open()
            try source.set(.fileOffset, to: UInt64(offset))
            let stream = client.writer(path, offset: UInt64(offset))
            defer { stream.close() }
            try stream.open()
            var progress = showsProgress ? ProgressBar(total: total, offset: offset) : nil
            var sent = offset
            for try await chunk in source.chunks() {
                try await stream.writeAll(chunk)
                sent += Int64(chunk.count)
                progress?.show(sent)
            }
            try await stream.finish()
            progress?.finish(sent)
        }
    }
}
