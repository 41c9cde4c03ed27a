/// What a transfer of a whole tree did.
public struct FTPTreeReport: Sendable, Hashable {
    /// Something that was left out.
    public struct Skipped: Sendable, Hashable {
        /// Why.
        public enum Reason: Sendable, Hashable {
            /// Its name would lead out of the folder, or can be no name here.
            case unsafeName
            /// It is a link, a device or the like, which are not followed and not made.
            case notAFile
            /// It lies deeper than ``FTPTreeReport/depthLimit``.
            case tooDeep
            /// The paths of the directories that wait to be entered take ``FTPTreeReport/waitingLimit`` bytes.
            case tooMany
            /// The server refused it: the last line of its reply, up to ``FTPTreeReport/replyLimit`` bytes.
            case refused(FTPReply)
        }

        /// Where it is: on the server for a download, here for an upload; the server's name for it if that refused it.
        ///
        /// A path over ``FTPTreeReport/pathLimit`` bytes is cut there and ends in `…`.
        public var path: String
        /// Why.
        public var reason: Reason
    }

    /// Files transferred.
    public var files = 0
    /// Files that were complete already.
    public var unchanged = 0
    /// Directories made, or found to be there.
    public var directories = 0
    /// Bytes moved.
    public var bytes: UInt64 = 0
    /// What was left out, at most ``skippedLimit`` of it.
    public var skipped: [Skipped] = []
    /// How much was left out.
    public var skippedCount = 0

    /// How much of what was left out is named.
    public static let skippedLimit = 1000
    /// The longest path in ``skipped``, in bytes.
    public static let pathLimit = 1024
    /// The longest text of a reply in ``skipped``, in bytes.
    public static let replyLimit = FTPReply.shownLimit
    /// The deepest directory that is entered, so that a server without end comes to one.
    public static let depthLimit = 64
    /// How many bytes directories that were found and are not yet entered may take: 8 MiB, some 25,000 directories.
    public static let waitingLimit = 8 << 20

    mutating func skip(_ path: String, _ reason: Skipped.Reason) {
        skippedCount += 1
        guard skipped.count < Self.skippedLimit else { return }
        var reason = reason
        if case .refused(let reply) = reason { reason = .refused(reply.lastLine(upTo: Self.replyLimit)) }
        skipped.append(Skipped(path: Self.shortened(path), reason: reason))
    }

    private static func shortened(_ path: String) -> String {
        guard path.utf8.count > pathLimit else { return path }
        let mark = "…"
        var end = path.utf8.index(path.startIndex, offsetBy: pathLimit - mark.utf8.count)
        while end.samePosition(in: path.unicodeScalars) == nil { path.utf8.formIndex(before: &end) }
        return String(path.unicodeScalars[..<end]) + mark
    }
}
