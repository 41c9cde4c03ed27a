/// How a whole tree is transferred.
public struct FTPTreeOptions: Sendable {
    /// Go on where a transfer ended before: files of the right size are left alone, shorter ones are continued.
    ///
    /// That a shorter file is the beginning of the other is taken for granted. Longer ones are replaced.
    public var resumes = false

    /// Called when a file begins, as its bytes move, and when it is done; on whatever thread that happens.
    public var progress: (@Sendable (FTPTreeProgress) -> Void)?

    /// The usual: every file anew, and nothing is told in between.
    public init() {}
}

/// How far the transfer of a tree has come.
public struct FTPTreeProgress: Sendable, Hashable {
    /// The file under way: its path on the server.
    public var path: String
    /// How many bytes of it are there, with those that were there before.
    public var count: UInt64
    /// How many it will have; nil if nobody said.
    public var size: UInt64?
    /// What was done before it.
    public var report: FTPTreeReport
}
