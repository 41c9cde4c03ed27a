import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// `netkit mkdir`: creates a directory.
struct MakeDirectoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mkdir", abstract: "Creates a directory on an FTP server; its parent must exist, except with -p.",
        discussion: """
            Examples:
              netkit mkdir ftp://ann@ftp.example.org/films/
              netkit mkdir -p ftp://ann@ftp.example.org/films/2026/may/
              netkit mkdir --json --tls required ftp://ann@ftp.example.org/films/2026/
            """)

    @Argument(help: "The URL of the new directory.")
    var url: String

    @Flag(name: [.customShort("p"), .long], help: "Also create the parents, and accept a directory that exists.")
    var parents = false

    @OptionGroup var target: FTPTarget

    func run() async throws {
        try await target.run(url) { [parents] client, path in
            if parents { try await client.makeDirectories(path) } else { try await client.makeDirectory(path) }
            return ["made": path.description]
        }
    }
}

/// `netkit rm`: deletes a file, or an empty directory if the URL ends in a slash.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Deletes a file on an FTP server, or an empty directory if the URL ends in a slash.",
        discussion: """
            Examples:
              netkit rm ftp://ann@ftp.example.org/old.txt
              netkit rm ftp://ann@ftp.example.org/empty-folder/
              netkit rm -r ftp://ann@ftp.example.org/folder
              netkit rm 'ftp://ann@ftp.example.org/logs/*.gz'

            In the URL, * and ? are wildcards. With -r, links are removed and not followed. A match that cannot be deleted is skipped; the exit code is then 18 for wildcards, also if lines of a listing cannot be read.
            """)

    @Argument(help: "The URL to delete.")
    var url: String

    @Flag(name: [.customShort("r"), .long], help: "Delete directories with everything below them.")
    var recursive = false

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let isDirectory = url.hasSuffix("/")
        try await target.run(url, allowsWildcards: true) { client, path in
            guard let pattern = FTPWildcards.pattern(of: url) else {
                try await remove(client, path, isDirectory: isDirectory)
                return ["removed": path.description]
            }
            var removed: [String] = []
            let unread = UnreadReport()
            let matches = try await FTPWildcards.matches(pattern, of: url, client, unread)
            var skipped = SkippedMatches(of: matches.count)
            for match in matches {
                if match.entry?.kind == .directory, !recursive, !isDirectory {
                    Terminal.say("netkit: skipped \(match.path): it is a directory; add -r.")
                    continue
                }
                let facts = try await skipped.facts(of: match.path) {
                    try await remove(client, match.path, isDirectory: isDirectory)
                    return [:]
                }
                if facts != nil { removed.append(match.path.description) }
            }
            return try skipped.checked(["removed": removed], unread)
        }
    }

    private func remove(_ client: FTPClient, _ path: FTPPath, isDirectory: Bool) async throws {
        if recursive {
            guard path.bytes.contains(where: { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") }) else {
                throw ValidationError("rm -r does not delete the root directory; use 'URL/*' for all that is in it.")
            }
            let report = try await client.removeTree(path)
            for skipped in report.skipped where skipped.isUnreadLine {
                Terminal.say("netkit: \(skipped.path): \(skipped.sentence)")
            }
            // A directory with entries that were not read is not empty, and the server has refused to remove it.
            if let refused = report.skipped.first(where: { !$0.isUnreadLine }) {
                throw StreamError(
                    domain: .ftp, code: 550,
                    sentence: Sentence("tool.notRemoved", "%1 could not be removed: %2", refused.path, refused.sentence)
                )
            }
        } else if isDirectory {
            try await client.removeDirectory(path)
        } else {
            try await client.remove(path)
        }
    }
}

/// `netkit mv`: renames a file or directory.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Renames a file or directory on an FTP server.",
        discussion: """
            Examples:
              netkit mv ftp://ann@ftp.example.org/old.txt attic/new.txt
              netkit mv ftp://ann@ftp.example.org/old.txt ftp://ann@ftp.example.org/attic/new.txt

            The new path is relative to the login directory, like the path of the URL. Both URLs have the same server.
            """)

    @Argument(help: "The URL of the file or directory.")
    var url: String

    @Argument(help: ArgumentHelp("The new path on the same server, or its URL.", valueName: "PATH"))
    var path: String

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let new = try newPath()
        try await target.run(url) { client, old in
            try await client.rename(old, to: new)
            return ["renamed": old.description, "to": new.description]
        }
    }

    private func newPath() throws -> FTPPath {
        guard path.contains("://") else { return FTPPath(path) }
        guard let old = URL(string: url), let new = URL(string: path),
            old.scheme?.lowercased() == new.scheme?.lowercased(),
            old.host()?.lowercased() == new.host()?.lowercased(), old.port == new.port,
            new.user() == nil || old.user() == new.user()
        else {
            throw ValidationError(
                "'\(Terminal.shownURL(path))' is on another server than '\(Terminal.shownURL(url))', or of another user."
            )
        }
        try URLArgument.checkEscapes(path)
        return try FTPPath(new)
    }
}

/// `netkit put`: uploads a file or a directory tree.
struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Uploads a file or folder to an FTP server.",
        discussion: """
            Examples:
              netkit put notes.txt ftp://ann@ftp.example.org/notes.txt
              netkit put --resume film.mkv ftp://ann@ftp.example.org/films/
              netkit put -r photos ftp://ann@ftp.example.org/attic/
              netkit put -r --newer --delete --sessions 4 site ftp://ann@ftp.example.org/
              tar c photos | netkit put - ftp://ann@ftp.example.org/photos.tar

            FILE may be - for standard input. If the URL ends in a slash, the file or folder keeps its name. Success means that the server confirmed it. With -r, files keep their dates if the server supports MFMT, and the exit code is 18 if an entry was skipped.
            """)

    @Argument(help: ArgumentHelp("The file or folder to upload.", valueName: "FILE"), completion: .file())
    var file: String

    @Argument(help: "The destination URL.")
    var url: String

    @Flag(name: [.customShort("r"), .long], help: "Upload a folder and its contents; links are skipped.")
    var recursive = false

    @Flag(help: "Continue where the server's file ends; with -r, where each file ends.")
    var resume = false

    @OptionGroup var tree: FTPTreeFlags

    @OptionGroup var pace: PaceOptions

    @OptionGroup var target: FTPTarget

    func validate() throws {
        if !recursive { try tree.requireNone() }
        if recursive, pace.limitRate != nil { throw ValidationError("--limit-rate cannot be combined with -r.") }
    }

    func run() async throws {
        try await target.run(url, ["file": file]) { client, path in
            if let limit = pace.connectTimeout { try client.set(.openTimeout, to: .seconds(limit)) }
            var path = path
            if url.hasSuffix("/") {
                if file == "-" { throw ValidationError("Standard input has no name: add one to the URL.") }
                let name = URL(fileURLWithPath: file).standardizedFileURL.lastPathComponent
                path = path.appending(Array(name.utf8))
            }
            let isFolder = try await BlockingThreads.files(at: file).call { [file] () throws(OutputFile.Failure) in
                if file != "-", let failure = OutputFile.Failure(reading: file) { throw failure }
                return FTPWildcards.isFolder(file)
            }
            switch (isFolder, recursive) {
            case (true, true):
                let progress = TreeProgress(tree.options(resumes: resume))
                return try await progress.track(isUpload: true) {
                    try await client.upload(file, to: path, progress.options)
                }
            case (false, false): return try await send(client, path)
            case (true, false): throw OutputFile.Failure(description: "\(file) is a folder; add -r.")
            case (false, true): throw OutputFile.Failure(description: "\(file) is not a folder; omit -r.")
            }
        }
    }

    private func send(_ client: FTPClient, _ path: FTPPath) async throws -> JSONOutput.Facts {
        let source = try await UploadSource.find(file)
        let total = source.length
        let offset = resume ? Int64(clamping: try await size(client, path)) : 0
        guard total.map({ offset <= $0 }) ?? true else {
            throw OutputFile.Failure(description: "\(file) is shorter than the file on the server.")
        }
        var facts: JSONOutput.Facts = ["path": path.description, "offset": offset, "bytes": Int64(0)]
        if resume, let total, offset == total, total > 0 {
            Terminal.say("netkit: \(file) is already complete on the server.")
            return facts
        }
        let bytes = PacedUpload.stream(try pace.rate(), try await source.opened(from: offset))
        defer { bytes.close() }
        try bytes.open()
        let stream = client.writer(path, offset: UInt64(offset))
        defer { stream.close() }
        try stream.open()
        var progress = Terminal.isInteractive ? ProgressBar(total: total, offset: offset) : nil
        var sent = offset
        for try await chunk in bytes.chunks() {
            try await stream.writeAll(chunk)
            sent += Int64(chunk.count)
            progress?.show(sent)
        }
        try await stream.finish()
        progress?.finish(sent)
        facts["bytes"] = sent - offset
        return facts
    }

    /// The size of the file on the server; 0 if it does not exist.
    private func size(_ client: FTPClient, _ path: FTPPath) async throws -> UInt64 {
        do throws(StreamError) {
            return try await client.size(of: path)
        } catch {
            if error.domain == .ftp, error.code == 550 { return 0 }
            let isUnreadable = (200..<300).contains(error.code)
            guard error.domain == .ftp, [500, 502, 504].contains(error.code) || isUnreadable else { throw error }
        }
        // The server does not know SIZE, or its reply has no size. Many refuse to list a file that does not exist.
        let listing = try? await ListCommand.list(path, client, isDirectory: false)
        return listing?.entries.first?.size ?? 0
    }
}

/// `netkit ls`: lists a directory.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists a directory or file on an FTP server, or the entries that match wildcards.",
        discussion: """
            Examples:
              netkit ls ftp://ftp.example.org/pub/
              netkit ls -l --tls required -u ann ftp://ftp.example.org/
              netkit ls -lh 'ftp://ftp.example.org/pub/*.iso'

            With -l, ? after a date marks a guessed year, and Z a time in UTC; other times are in the server's time zone. Lines of the listing that cannot be read are printed as warnings, and the exit code is 18.
            """, helpNames: .long)

    @Argument(help: "The URL of the directory or file.")
    var url: String

    @Flag(name: .short, help: "Show kind, permissions, owner, size and date.")
    var long = false

    @Flag(name: .customShort("h"), help: "With -l: sizes such as 1.5 MB.")
    var human = false

    @OptionGroup var target: FTPTarget

    func validate() throws {
        if human, !long { throw ValidationError("-h requires -l; for help, use --help.") }
    }

    func run() async throws {
        try await target.run(url, allowsWildcards: true) { [url, long, human, target] client, path in
            var entries: [(name: String, entry: ListingEntry)]
            let unread = UnreadReport()
            if let pattern = FTPWildcards.pattern(of: url) {
                entries = try await FTPWildcards.matches(pattern, of: url, client, unread).compactMap { match in
                    match.entry.map { (match.path.description, $0) }
                }
            } else {
                let listing = try await ListCommand.list(path, client, isDirectory: url.hasSuffix("/"))
                entries = listing.entries.map { ($0.name, $0) }.sorted { $0.0 < $1.0 }
                unread.add(path, listing.unread)
            }
            if target.json {
                return try unread.checked(
                    ["entries": entries.map { ListCommand.facts($0.entry).merging(["name": $0.name]) { $1 } }])
            }
            func size(_ entry: ListingEntry) -> String {
                entry.size.map { human ? ProgressBar.size(Double($0)) : String($0) } ?? "-"
            }
            let sizeWidth = entries.map { size($0.entry).count }.max() ?? 1
            for (name, entry) in entries {
                guard long else {
                    Terminal.print("\(name)")
                    continue
                }
                let padding = String(repeating: " ", count: sizeWidth - size(entry).count)
                let owner = [entry.owner, entry.group].compactMap { $0 }.joined(separator: ":")
                let link = entry.linkTarget.map { " -> " + $0 } ?? ""
                Terminal.print(
                    "\(mode(entry)) \(owner.isEmpty ? "-" : owner) \(padding)\(size(entry)) \(date(entry.date)) \(name)\(link)"
                )
            }
            return try unread.checked([:])
        }
    }

    /// The entries of a directory, or the entry of a file, which many servers refuse to list: it is then found in its directory.
    fileprivate static func list(
        _ path: FTPPath, _ client: FTPClient, isDirectory: Bool
    ) async throws(StreamError) -> FTPDirectoryListing {
        do throws(StreamError) {
            return try await client.listing(path)
        } catch {
            let parts = path.bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            guard !isDirectory, error.domain == .ftp, [501, 550].contains(error.code), let name = parts.last,
                !name.isEmpty
            else { throw error }
            let parent = FTPPath(bytes: Array(path.bytes.dropLast(name.count)))
            guard var listing = try? await client.listing(parent) else { throw error }
            listing.entries.removeAll { $0.nameBytes != Array(name) || $0.kind == .directory }
            guard !listing.entries.isEmpty else { throw error }
            return listing
        }
    }

    private func mode(_ entry: ListingEntry) -> String {
        let letter =
            switch entry.kind {
            case .file: "-"
            case .directory: "d"
            case .link: "l"
            case .characterDevice: "c"
            case .blockDevice: "b"
            case .fifo: "p"
            case .socket: "s"
            case .unknown: "?"
            }
        guard let mode = entry.mode else { return letter + "?????????" }
        return letter
            + zip("rwxrwxrwx", 0...).map { mode & (0o400 >> UInt16($1)) == 0 ? "-" : String($0) }.joined()
    }

    private func date(_ date: ListingDate?) -> String {
        guard let date else { return "-" }
        var text = String(format: "%04d-%02d-%02d", date.year, date.month, date.day)
        if date.precision != .day { text += String(format: " %02d:%02d", date.hour, date.minute) }
        if date.zone == .utc { text += "Z" }
        return date.isYearGuessed ? text + "?" : text
    }

    private static func facts(_ entry: ListingEntry) -> JSONOutput.Facts {
        var facts: JSONOutput.Facts = ["name": entry.name, "kind": "\(entry.kind)", "format": entry.format.rawValue]
        facts["size"] = entry.size
        facts["owner"] = entry.owner
        facts["group"] = entry.group
        facts["mode"] = entry.mode.map { String($0, radix: 8) }
        facts["target"] = entry.linkTarget
        facts["date"] = entry.date.map { date -> JSONOutput.Facts in
            [
                "seconds": date.secondsSince1970(), "isYearGuessed": date.isYearGuessed,
                "isZoneKnown": date.zone != .unknown, "precision": "\(date.precision)",
            ]
        }
        return facts
    }
}
