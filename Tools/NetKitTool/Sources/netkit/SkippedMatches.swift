import Glibc
@_spi(Packages) import NetKit

/// The matches of a wildcard that could not be transferred or removed. The others go on, and the exit code is 18, as with trees.
struct SkippedMatches {
    /// The number of matches. The failure of one that is alone is that of the verb.
    let count: Int
    private var skipped: [JSONOutput.Facts] = []
    private var isWhole = true

    init(of count: Int) {
        self.count = count
    }

    /// Handles a match.
    ///
    /// - Returns: The result; the facts of an incomplete tree; nil if the match is skipped.
    /// - Throws: A failure that concerns the others as well: of the session, the disk or the way to the server.
    mutating func facts(
        of path: FTPPath, _ body: () async throws -> JSONOutput.Facts
    ) async throws -> JSONOutput.Facts? {
        do {
            return try await body()
        } catch let incomplete as TreeProgress.Incomplete {
            // The tree has reported what is missing.
            isWhole = false
            return incomplete.facts
        } catch  where count > 1 && SkippedMatches.concernsOne(error) {
            skip(path, ExitStatus.describe(error)?.sentence ?? "\(error)")
            return nil
        }
    }

    /// Reports a match that is skipped.
    mutating func skip(_ path: FTPPath, _ reason: String) {
        isWhole = false
        Terminal.say("netkit: skipped \(path): \(reason)")
        skipped.append(["path": path.description, "reason": reason])
    }

    /// The result of a verb.
    ///
    /// - Throws: ``TreeProgress/Incomplete`` if a match was skipped, or a line of a listing could not be read.
    func checked(_ facts: JSONOutput.Facts, _ unread: UnreadReport) throws(TreeProgress.Incomplete) -> JSONOutput.Facts
    {
        let facts = skipped.isEmpty ? facts : facts.merging(["skipped": skipped]) { $1 }
        let checked = try unread.checked(facts)
        if !isWhole { throw TreeProgress.Incomplete(facts: facts, description: "Some of the matches were skipped.") }
        return checked
    }

    /// Whether a failure concerns one file or directory.
    private static func concernsOne(_ error: any Error) -> Bool {
        if let failure = error as? OutputFile.Failure { return !failure.isBrokenPipe && !failure.isDiskExhausted }
        guard let error = error as? StreamError else { return false }
        if let failure = error.underlying as? FTPError {
            return switch failure.code {
            case .refused, .incomplete, .unexpectedReply, .notAReply, .replyTooLong: true
            case .loginRefused, .connectionLost, .notSecure, .badURL, .badArgument, .timedOut: false
            }
        }
        if error.reason == .localFile {
            return !OutputFile.Failure.exhaustedNumbers.contains(CInt(clamping: error.code))
        }
        return error.domain == .ftp || error.isPOSIX(ECONNRESET) || error.isPOSIX(EPIPE)
    }
}
