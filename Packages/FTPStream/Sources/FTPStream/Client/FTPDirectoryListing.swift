public import FTPListing

/// The listing of a directory on a server.
public struct FTPDirectoryListing: Sendable, Hashable {
    /// The entries, without the directory itself and its parent.
    public var entries: [ListingEntry]

    /// The lines that could not be read, or only by a guess; each may stand for a further entry.
    public var unread: UnreadLines
}

extension FTPDirectoryListing {
    /// Whether the entries are all that the directory has, so that what is missing there may be deleted elsewhere: every line was
    /// read without a guess, and every name can be that of a file. A name with a CR consists of several lines, and one with a NUL or a slash is
    /// cut or a path.
    var isComplete: Bool {
        unread.isEmpty && entries.allSatisfy { $0.pathComponent?.contains(UInt8(ascii: "\r")) == false }
    }
}
