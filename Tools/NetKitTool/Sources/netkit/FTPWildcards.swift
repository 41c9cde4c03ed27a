import ArgumentParser
import Foundation
import NetKit

/// Wildcards in the path of an FTP URL: `*` for any characters, `?` for one. Escaped ones (`%2A`, `%3F`) are literal.
enum FTPWildcards {
    /// The pattern of a URL's path; nil without wildcards.
    static func pattern(of url: String) -> FTPPattern? {
        guard FTPOptions.isFTP(url), let slash = pathStart(of: url) else { return nil }
        let wildcards = Array("*?".utf8)
        var rest = Array(url.utf8[slash...].dropFirst())[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                if wildcards.contains(value) || value == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(value)
            } else {
                if byte == UInt8(ascii: "\\") { bytes.append(byte) }
                bytes.append(byte)
            }
        }
        let pattern = FTPPattern(bytes: bytes)
        return pattern.hasWildcards ? pattern : nil
    }

    /// The URL without its path, for a pattern; a question mark in a path is not the beginning of a query.
    static func server(of url: String) -> URL? {
        pathStart(of: url).flatMap { URL(string: "\(url[..<$0])/") } ?? URL(string: url)
    }

    /// The slash before the path, found by bytes: beside a combining mark it is part of another `Character`.
    private static func pathStart(of url: String) -> String.Index? {
        url.utf8.firstRange(of: "://".utf8).flatMap { url.utf8[$0.upperBound...].firstIndex(of: UInt8(ascii: "/")) }
    }

    /// Whether a path is that of a folder.
    static func isFolder(_ path: String?) -> Bool {
        var isFolder: ObjCBool = false
        guard let path else { return false }
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The paths that match, at least one.
    ///
    /// - Throws: The code 550, as for a missing file, if nothing matches.
    static func matches(
        _ pattern: FTPPattern, of url: String, _ client: FTPClient, _ unread: UnreadReport
    ) async throws(StreamError) -> [FTPMatch] {
        let found = try await client.matches(pattern, onUnread: unread.add)
        guard !found.isEmpty else {
            throw StreamError(
                domain: .ftp, code: 550,
                sentence: Sentence("tool.noMatch", "Nothing on the server matches %1.", JSONOutput.url(url)))
        }
        return found
    }
}

/// The options for trees that `get -r` and `put -r` share.
struct FTPTreeFlags: ParsableArguments {
    @Flag(
        name: [.customShort("N"), .customLong("newer")],
        help: "With -r: transfer only files that are newer than the existing ones, or of another size.")
    var onlyNewer = false

    @Flag(help: "With -r: delete what the source does not have, in each folder of the tree.")
    var delete = false

    @Flag(help: "With get -r: also create files in FOLDER whose names begin with a dot, such as .bashrc.")
    var hidden = false

    @Option(
        help: ArgumentHelp("With -r: transfer NUMBER files at the same time, at most 64.", valueName: "NUMBER"))
    var sessions: Int?

    func validate() throws {
        if let sessions, !(1...FTPTreeOptions.maximumConnections).contains(sessions) {
            throw ValidationError("--sessions must be a number from 1 to \(FTPTreeOptions.maximumConnections).")
        }
    }

    /// Throws if an option was given; for transfers that are not of trees.
    func requireNone() throws {
        let names = [
            ("--newer", onlyNewer), ("--delete", delete), ("--hidden", hidden), ("--sessions", sessions != nil),
        ].filter(\.1).map(\.0)
        guard let name = names.first else { return }
        let hint = onlyNewer ? " For -N of curl, omit it: netkit does not buffer its output." : ""
        throw ValidationError("\(name) requires -r.\(hint)")
    }

    /// The options of a transfer, which keeps the dates of files.
    func options(resumes: Bool) -> FTPTreeOptions {
        var options = FTPTreeOptions()
        options.resumes = resumes
        options.onlyNewer = onlyNewer
        options.deletes = delete
        options.permitsHiddenNames = hidden
        options.connections = sessions ?? 1
        options.keepsDates = true
        return options
    }
}
