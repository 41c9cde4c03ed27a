/// Why a peer could not do its part. Print it for the whole story; it carries the server's own log.
public struct PeerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Code: Hashable, Sendable {
        /// The program is not installed; `reason` names the Debian package.
        case notInstalled
        /// The program ended, or a command failed.
        case exited
        /// A deadline passed.
        case timedOut
        /// No free port could be had, also after several tries.
        case noPort
        /// The kernel or the file system refused.
        case refused
        /// A scripted peer received something else than its script expects.
        case unexpected
    }

    /// What went wrong.
    public var code: Code
    /// A sentence for people.
    public var reason: String
    /// What the program wrote, newest last, if there was a program.
    public var log: String

    /// Makes an error of these parts.
    public init(_ code: Code, _ reason: String, log: String = "") {
        self.code = code
        self.reason = reason
        self.log = log
    }

    /// The sentence, followed by the end of the program's log.
    public var description: String {
        log.isEmpty ? reason : "\(reason)\n--- log ---\n\(log.suffix(4000))"
    }
}
