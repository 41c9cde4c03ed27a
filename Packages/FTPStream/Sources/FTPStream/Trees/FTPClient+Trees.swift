public import StreamKit

/// Whole trees, one file after the other on one session.
extension FTPClient {
    /// Fetches everything in a directory and below it.
    ///
    /// ```swift
    /// var options = FTPTreeOptions()
    /// options.resumes = true
    /// let report = try await client.download("pub/photos", to: "/home/ann/photos", options)
    /// print(report.files, report.skipped)
    /// ```
    ///
    /// The server names what is written, so its names are not trusted: one that is no single name here is skipped and reported.
    /// Links are neither followed nor made, on either side. Files are replaced, unless the options say otherwise. What the server
    /// refuses is skipped and reported; any other failure ends it, with everything before it in place.
    ///
    /// - Parameters:
    ///   - path: a directory on the server.
    ///   - folder: where its contents go; made if its parent is there.
    ///   - options: what to do with files that are there, and whom to tell.
    /// - Throws: the failure, named by the path at which it happened.
    public nonisolated(nonsending) func download(
        _ path: FTPPath, to folder: String, _ options: FTPTreeOptions = FTPTreeOptions()
    ) async throws(StreamError) -> FTPTreeReport {
        var tree = TreeTransfer(client: self, options: options)
        try await tree.download(path, to: folder)
        return tree.report
    }

    /// Sends everything in a folder and below it.
    ///
    /// - Parameters:
    ///   - folder: a folder here; links in it are skipped and reported.
    ///   - path: a directory on the server; made, as those below it, unless it is there.
    ///   - options: what to do with files that are there, and whom to tell.
    /// - Throws: as ``download(_:to:_:)``. That the outermost directory can neither be made nor listed is a failure.
    public nonisolated(nonsending) func upload(
        _ folder: String, to path: FTPPath, _ options: FTPTreeOptions = FTPTreeOptions()
    ) async throws(StreamError) -> FTPTreeReport {
        var tree = TreeTransfer(client: self, options: options)
        try await tree.upload(folder, to: path)
        return tree.report
    }
}
