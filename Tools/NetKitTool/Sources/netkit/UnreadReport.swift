import NetKit

/// Warnings about lines of listings that could not be read, or only by a guess, each of which may stand for a file. The exit code is then 18.
final class UnreadReport: Sendable {
    private let count = Locked(0)

    /// Prints the lines of a directory.
    func add(_ directory: FTPPath, _ unread: UnreadLines) {
        if unread.isEmpty { return }
        count.withLock { $0 += unread.count + unread.guessCount }
        let name = directory.bytes.isEmpty ? "the login directory" : directory.description
        for line in unread.texts { Terminal.say("netkit: a line of the listing of \(name) could not be read: \(line)") }
        for line in unread.guesses { Terminal.say("netkit: a line of the listing of \(name) \(Self.guess): \(line)") }
        let more = unread.count - unread.texts.count + unread.guessCount - unread.guesses.count
        if more > 0 { Terminal.say("netkit: and \(more) more") }
    }

    /// What is said of a line that was read by a guess.
    static let guess = "does not show whether a number is its year or belongs to the name"

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
