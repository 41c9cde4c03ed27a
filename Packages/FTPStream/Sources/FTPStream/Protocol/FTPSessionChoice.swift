internal import StreamKit

/// Which session a job uses, and whether it begins again on a new one. No I/O.
struct FTPSessionChoice: Sendable {
    /// Whether an idle session may be used.
    private(set) var mayReuse = true
    /// Whether the server may expect TLS from the first byte, or after a greeting and AUTH: the caller requires TLS, and nothing else.
    private let leavesBeginOfTLS: Bool
    /// Whether the server has greeted in plaintext, so that its silence has no meaning.
    private var isKnownToGreet = false

    /// - Parameter control: the security of the control connection.
    init(_ options: FTPOptions, at location: FTPLocation, _ control: FTPSecurity.Control) {
        leavesBeginOfTLS = location.isSecure && options.security == nil && control == .required
    }

    /// Whether a server that does not greet may expect TLS from the first byte, as on port 990.
    var silenceMayMeanTLS: Bool { leavesBeginOfTLS && !isKnownToGreet }

    /// Decides whether the job begins again on a new session: a kept session was dead, which only its use reveals; or TLS was begun too
    /// early.
    ///
    /// - Parameters:
    ///   - error: the error that has ended the session.
    ///   - machine: the dialogue of the session.
    ///   - isReused: whether the session has run a job before this one.
    mutating func beginsAgain(after error: StreamError, of machine: FTPMachine, isReused: Bool) -> Bool {
        let wasDead = mayReuse && isReused && machine.lastReply == nil && FTPSessionChoice.isLoss(error)
        let hasGreetedLate = !isKnownToGreet && machine.hasGreetedLate(error)
        if hasGreetedLate { isKnownToGreet = true }
        guard wasDead || hasGreetedLate else { return false }
        mayReuse = false
        return true
    }

    /// Whether a connection was lost. An invalid command would fail on a new session as well, and a time limit (ETIMEDOUT) is over.
    private static func isLoss(_ error: StreamError) -> Bool {
        if let failure = error.underlying as? FTPError { return failure.code == .connectionLost }
        return error.domain == .posix && error.code != 110
    }
}
