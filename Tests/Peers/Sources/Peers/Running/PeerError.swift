/// An error of a peer, with the server's log. Print it for the details.
public struct PeerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The program is not installed; `reason` names the Debian package.
        case notInstalled
        /// The program ended, or a command failed.
        case exited
        /// A deadline passed.
        case timedOut
        /// No free port was found, even after several attempts.
        case noPort
        /// The kernel or the file system refused.
        case refused
        /// A scripted peer received something that its script does not expect.
        case unexpected
    }

    /// The kind of error.
    public var code: Code
    /// A description of the error, for display.
    public var reason: String
    /// The output of the program, the newest last; empty if no program was started.
    public var log: String

    /// Creates an error.
    public init(_ code: Code, _ reason: String, log: String = "") {
        self.code = code
        self.reason = reason
        self.log = log
    }

    /// The reason, followed by the last 4000 characters of the log.
    public var description: String {
        log.isEmpty ? reason : "\(reason)\n--- log ---\n\(log.suffix(4000))"
    }
}
