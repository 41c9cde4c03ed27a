internal import FTPListing
public import StreamKit

// Transfers of whole trees. Directories are entered one after the other; files are transferred by several sessions, if wanted.

extension FTPClient {
    /// Downloads a directory with everything below it.
    ///
    /// ```swift
    /// var options = FTPTreeOptions()
    /// options.resumes = true
    /// let report = try await client.download("pub/photos", to: "/home/ann/photos", options)
    /// print(report.files, report.skipped)
    /// ```
    ///
    /// The server's names are not trusted: an entry whose name is not safe as a local name (`LocalFileName`) is skipped and reported;
    /// see ``FTPTreeOptions/permitsHiddenNames``. Links below the roots are neither followed nor created, on either side. Existing files are replaced
    /// when the new ones are complete, unless `options` resumes them.
    ///
    /// Files and directories that the server refuses, whatever its reply, whose data connection breaks, whose replies cannot be read, whose
    /// local counterparts cannot be used, or for which the process has no descriptors left, are skipped and reported, and so are lines of a
    /// listing that could not be read. Any other error ends the transfer, as do a full disk on either side and several failures of data
    /// connections or replies in a row;
    /// files transferred before it remain. Local files are read and written on the threads for files of the device
    /// (`BlockingThreads`); a call that has not returned within 60 s, or for which no thread is free, ends the transfer, too.
    ///
    /// - Parameters:
    ///   - path: a directory on the server.
    ///   - folder: the folder for its contents. It is created if its parent exists.
    ///   - options: whether to resume existing files, and a function that receives the progress.
    /// - Returns: What was transferred and what was skipped.
    /// - Throws: The error, whose message begins with the path that failed.
    public nonisolated(nonsending) func download(
        _ path: FTPPath, to folder: String, _ options: FTPTreeOptions = FTPTreeOptions()
    ) async throws(StreamError) -> FTPTreeReport {
        let tree = TreeTransfer(client: self, options: options, folder: folder)
        try await tree.download(path, to: folder)
        return tree.report
    }

    /// Uploads a folder with everything below it.
    ///
    /// - Parameters:
    ///   - folder: a local folder. Links in it are skipped and reported.
    ///   - path: a directory on the server. It and the directories below it are created if they do not exist.
    ///   - options: whether to resume existing files, and a function that receives the progress.
    /// - Returns: What was transferred and what was skipped.
    /// - Throws: As ``download(_:to:_:)``, and if the server refuses to create and to list `path`.
    public nonisolated(nonsending) func upload(
        _ folder: String, to path: FTPPath, _ options: FTPTreeOptions = FTPTreeOptions()
    ) async throws(StreamError) -> FTPTreeReport {
        let tree = TreeTransfer(client: self, options: options, folder: folder)
        try await tree.upload(folder, to: path)
        return tree.report
    }
}

/// The options of a transfer of a tree.
public struct FTPTreeOptions: Sendable {
    /// Whether to resume an earlier transfer: files of the same size are skipped, and shorter ones are continued. Default false.
    ///
    /// A shorter file is assumed to be the beginning of the other. Longer files are replaced. A download that fails leaves what it has
    /// received beside the place of the file, with the suffix `.netkit.part`, and is continued there. If the server cannot start in the middle of a
    /// file (REST), the whole file is transferred; a shorter local file stays until it is complete.
    public var resumes = false

    /// Whether to transfer only files that are newer than the existing ones, or have another size. Default false.
    ///
    /// Dates are compared in seconds, as MLSD and MDTM state them. A file whose date or size is unknown is transferred. Useful with
    /// ``keepsDates``, which makes the dates of both sides equal.
    public var onlyNewer = false

    /// Whether a transferred file gets the date of its source (MDTM and MFMT for servers). Default false.
    ///
    /// ``FTPTreeReport/datesLost`` counts the files where that was not possible, because the server supports neither.
    public var keepsDates = false

    /// Whether to delete what the source does not have, in each directory that the transfer enters. Default false.
    ///
    /// Nothing is deleted in a directory that could not be listed or whose listing has lines that could not be read, or only by a guess,
    /// because they may stand for any of the files. Links are deleted without being followed.
    public var deletes = false

    /// Whether a download may create files and folders in the root of the tree whose names begin with a dot. Default false: programs
    /// read some of them on their own, such as `.bashrc`, if the root is a home folder. Below the root they are always permitted.
    public var permitsHiddenNames = false

    /// The number of files that are transferred at the same time, each on a session of its own. Default 1; at most 64.
    public var connections = 1

    /// The largest number for ``connections``.
    public static let maximumConnections = 64

    /// Called at the beginning of a file and after each part of it, on any thread.
    public var progress: (@Sendable (FTPTreeProgress) -> Void)?

    /// Creates the default options: existing files are replaced, and progress is not reported.
    public init() {}
}

/// The progress of a transfer of a tree.
public struct FTPTreeProgress: Sendable, Hashable {
    /// The path of the current file on the server.
    public var path: String
    /// The number of bytes of the file that are transferred, including those of an earlier transfer.
    public var count: UInt64
    /// The size of the file in bytes; nil if unknown.
    public var size: UInt64?
    /// The report of the transfer so far.
    public var report: FTPTreeReport
}

/// The result of a transfer of a tree.
public struct FTPTreeReport: Sendable, Hashable {
    /// A file or directory that was skipped.
    public struct Skipped: Sendable, Hashable {
        /// The reasons for skipping an entry.
        public enum Reason: Sendable, Hashable {
            /// Its name would lead out of the folder, or is not safe as a local file name: `LocalFileName`.
            case unsafeName
            /// It is a link, device or other special file; these are neither followed nor created.
            case notAFile
            /// Its depth exceeds 64 directories.
            case tooDeep
            /// The list of directories still to be entered has reached 8 MiB.
            case tooMany
            /// The server refused it. The reply has its last line, up to 512 bytes.
            case refused(FTPReply)
            /// It was not received completely, or the local file or folder cannot be used; with the message.
            case failed(String)
            /// A line of a directory's listing could not be read, so an entry may be missing; with the line as text.
            case unreadLine(String)
            /// A line of a directory's listing can be read in two ways and was read by a guess, so the name of an entry may be wrong;
            /// with the line as text.
            case guessedLine(String)
        }

        /// The path on the server for a download, the local path for an upload. If the server refused it or the transfer failed, the
        /// path on the server. For a line that could not be read, the path of the directory.
        ///
        /// A path of more than 1024 bytes is cut to that length and ends in `…`.
        public var path: String
        /// Why it was skipped.
        public var reason: Reason
    }

    /// The number of files in the directories that have been read so far.
    public var filesFound = 0
    /// The number of files transferred.
    public var files = 0
    /// The number of files that were already complete.
    public var unchanged = 0
    /// The number of transferred files whose date could not be kept.
    public var datesLost = 0
    /// The number of files and directories that were deleted.
    public var deleted = 0
    /// The number of directories created or already present.
    public var directories = 0
    /// The number of bytes transferred.
    public var bytes: UInt64 = 0
    /// The skipped entries, at most 1000.
    public var skipped: [Skipped] = []
    /// The number of all skipped entries.
    public var skippedCount = 0

    /// The most entries in ``skipped``.
    @_spi(Packages) public static let maximumSkipped = 1000
    /// The longest path in ``skipped``, in bytes.
    @_spi(Packages) public static let maximumPathLength = 1024
    /// The longest text of a reply in ``skipped``, in bytes.
    @_spi(Packages) public static let maximumReplyLength = FTPReply.maximumShownLength
    /// The greatest depth of a directory that is entered, so that a transfer from a server with endless directories ends.
    @_spi(Packages) public static let maximumDepth = 64
    /// The most memory for directories that are found and not yet entered, in bytes: 8 MiB, about 25,000 directories.
    @_spi(Packages) public static let maximumWaitingMemory = 8 << 20

    mutating func skip(_ path: String, _ reason: Skipped.Reason) {
        skippedCount += 1
        guard skipped.count < Self.maximumSkipped else { return }
        let shortReason: Skipped.Reason =
            switch reason {
            case .refused(let reply): .refused(reply.lastLine(upTo: Self.maximumReplyLength))
            case .failed(let text): .failed(Self.shortened(text))
            case .unsafeName, .notAFile, .tooDeep, .tooMany, .unreadLine, .guessedLine: reason
            }
        skipped.append(Skipped(path: Self.shortened(path), reason: shortReason))
    }

    /// Reports lines of a directory's listing that could not be read, or only by a guess.
    mutating func skip(_ directory: FTPPath, _ unread: UnreadLines) {
        for text in unread.texts { skip(directory.description, .unreadLine(text)) }
        for text in unread.guesses { skip(directory.description, .guessedLine(text)) }
        skippedCount += unread.count - unread.texts.count + unread.guessCount - unread.guesses.count
    }

    private static func shortened(_ path: String) -> String {
        guard path.utf8.count > maximumPathLength else { return path }
        let mark = "…"
        var end = path.utf8.index(path.startIndex, offsetBy: maximumPathLength - mark.utf8.count)
        while end.samePosition(in: path.unicodeScalars) == nil { path.utf8.formIndex(before: &end) }
        return String(path.unicodeScalars[..<end]) + mark
    }
}
