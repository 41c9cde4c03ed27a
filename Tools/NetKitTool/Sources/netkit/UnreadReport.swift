import NetKit

/// Warnings about lines of listings that could not be read, each of which may stand for a file. The exit code is then 18.
final class UnreadReport: Sendable {
    private let count = Locked(0)

    /// Prints the lines of a directory.
    func add(_ directory: FTPPath, _ unread: UnreadLines) {
        if unread.isEmpty { return }
        count.withLock { $0 += unread.count }
        let name = directory.bytes.isEmpty ? "the login directory" : directory.description
        for line in unread.texts { Terminal.say("netkit: a line of the listing of \(name) could not be read: \(line)") }
        if unread.count > unread.texts.count { Terminal.say("netkit: and \(unread.count - unread.texts.count) more") }
    }

    /// The result of a verb.
    ///
    /// - Throws: ``TreeProgress/Incomplete`` if a line could not be read.
    func checked(_ facts: JSONOutput.Facts) throws(TreeProgress.Incomplete) -> JSONOutput.Facts {
        let count = count.withLock { $0 }
        if count == 0 { return facts }
        throw TreeProgress.Incomplete(
            facts: facts.merging(["unreadLines": count]) { $1 },
            description: "Not every line of the listing could be read.")
    }
}
