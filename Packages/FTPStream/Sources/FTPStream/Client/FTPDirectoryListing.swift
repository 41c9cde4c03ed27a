public import FTPListing

/// The listing of a directory on a server.
public struct FTPDirectoryListing: Sendable, Hashable {
    /// The entries, without the directory itself and its parent.
    public var entries: [ListingEntry]

    /// The lines that could not be read; each may stand for a further entry.
    public var unread: UnreadLines
}
