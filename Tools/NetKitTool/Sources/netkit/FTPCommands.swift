import ArgumentParser
import Foundation
import NetKit

/// `netkit mkdir`: makes a directory.
struct MakeDirectoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mkdir", abstract: "Makes a directory on an FTP server; its parent must exist.",
        discussion: """
            Examples:
              netkit mkdir ftp://ann@ftp.example.org/films/
              netkit mkdir --json --tls required ftp://ann@ftp.example.org/films/2026/
            """)

    @Argument(help: "The URL of the new directory.")
    var url: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, path) = try await target.client(url)
        try await target.run(["url": JSONOutput.url(url)]) {
            try await client.makeDirectory(path)
            return ["made": path.description]
        }
    }
}

/// `netkit rm`: removes a file, or a directory whose URL ends in a slash.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes a file on an FTP server; an empty directory if the URL ends in a slash.",
        discussion: """
            Examples:
              netkit rm ftp://ann@ftp.example.org/old.txt
              netkit rm ftp://ann@ftp.example.org/empty-folder/
            """)

    @Argument(help: "What to remove.")
    var url: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, path) = try await target.client(url)
        let isDirectory = url.hasSuffix("/")
        try await target.run(["url": JSONOutput.url(url)]) {
            if isDirectory { try await client.removeDirectory(path) } else { try await client.remove(path) }
            return ["removed": path.description]
        }
    }
}

/// `netkit mv`: gives a file another name.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Renames a file or directory on an FTP server.",
        discussion: """
            Example: netkit mv ftp://ann@ftp.example.org/old.txt attic/new.txt

            The new path begins where the user's files do, as that of the URL does.
            """)

    @Argument(help: "The URL of what is renamed.")
    var url: String

    @Argument(help: ArgumentHelp("Its new path on the same server.", valueName: "PATH"))
    var path: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, old) = try await target.client(url)
        let new = FTPPath(path)
        try await target.run(["url": JSONOutput.url(url)]) {
            try await client.rename(old, to: new)
            return ["renamed": old.description, "to": new.description]
        }
    }
}
