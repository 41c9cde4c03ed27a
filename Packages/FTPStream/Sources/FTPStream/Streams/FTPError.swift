public import StreamKit

/// An error of FTP: a refusal by the server, a violation of the protocol, or an invalid argument.
///
/// Streams throw it as a `StreamError` of domain `StreamErrorDomain.ftp`. Its code is the code of the reply, and its
/// `StreamError.underlying` is the `FTPError`. Replaces `kCFFTPErrorUnexpectedStatusCode` and
/// `kCFFTPStatusCodeKey`.
public struct FTPError: Error, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// The server refused a command; ``FTPError/reply`` contains the reason.
        case refused
        /// The server refused the user name, password or account.
        case loginRefused
        /// The reply is not valid for the command.
        case unexpectedReply
        /// The received line is not an FTP reply.
        case notAReply
        /// A reply is too long.
        case replyTooLong
        /// The server ended the session (421) or closed the connection.
        case connectionLost
        /// TLS is required, and the server does not support it.
        case notSecure
        /// The URL cannot be used with FTP.
        case badURL
        /// A name, command or combination of properties is invalid.
        case badArgument
        /// The server did not reply within the time limit.
        case timedOut
        /// The server sent or has fewer bytes than it said, or than the offset, or confirmed a transfer without its data, so the file is
        /// not complete.
        case incomplete
    }

    /// The kind of error.
    public let code: Code

    /// The server's reply; nil if there was none.
    public let reply: FTPReply?

    /// Whether the transfer cannot start in the middle of the file: the server refused that (REST, RFC 3659 §5), and the ``code`` is
    /// ``Code/refused``; or the file ends before, since it is another one now, and the code is ``Code/incomplete``. The whole
    /// file can be transferred instead.
    public let refusesOffset: Bool

    /// The message, which can be localized.
    public let sentence: Sentence

    init(_ code: Code, reply: FTPReply? = nil, refusesOffset: Bool = false, _ sentence: Sentence) {
        self.code = code
        self.reply = reply
        self.refusesOffset = refusesOffset
        self.sentence = sentence
    }

    /// The message in English.
    public var description: String { sentence.description }
}

extension StreamError {
    /// Creates the error that streams throw for an FTP error.
    public init(_ error: FTPError) {
        let domain: StreamErrorDomain
        let code: Int
        switch error.code {
        case .refused, .loginRefused, .unexpectedReply, .connectionLost, .notSecure:
            // A lost connection without a reply is a POSIX error, as with CFNetwork.
            domain = error.reply == nil && error.code == .connectionLost ? .posix : .ftp
            code = error.reply?.code ?? (error.code == .connectionLost ? 107 : 200)  // ENOTCONN
        case .notAReply, .replyTooLong, .incomplete: (domain, code) = (.ftp, 200)  // kCFFTPErrorUnexpectedStatusCode
        case .badURL, .badArgument: (domain, code) = (.posix, 22)  // EINVAL
        case .timedOut: (domain, code) = (.posix, 110)  // ETIMEDOUT
        }
        self.init(domain: domain, code: code, sentence: error.sentence, underlying: error)
    }

    /// Runs `body` and throws its error as a `StreamError`.
    static func converting<Result>(_ body: () throws(FTPError) -> Result) throws(StreamError) -> Result {
        do throws(FTPError) {
            return try body()
        } catch {
            throw StreamError(error)
        }
    }
}

// MARK: - Messages

extension FTPError {
    static func refused(_ command: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .refused, reply: reply, Sentence("ftp.refused", "The server refused %1: %2", command, reply.description))
    }

    static func loginRefused(_ reply: FTPReply) -> FTPError {
        FTPError(
            .loginRefused, reply: reply,
            Sentence(
                "ftp.login", "The server rejected the login: %1 Check the user name and the password.",
                reply.description))
    }

    static func accountNeeded(_ reply: FTPReply) -> FTPError {
        FTPError(
            .loginRefused, reply: reply,
            Sentence("ftp.account", "The server requires an account in addition to the password: %1", reply.description)
        )
    }

    /// - Parameter awaited: the outstanding reply, such as "reply to RETR".
    static func unexpected(_ awaited: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .unexpectedReply, reply: reply,
            Sentence("ftp.unexpected", "The server's %1 is not valid: %2", awaited, reply.description))
    }

    static func notAReply(_ line: [UInt8]) -> FTPError {
        let text = ListingEntry.shownText(of: Array(line.prefix(60)))
        return FTPError(
            .notAReply,
            Sentence("ftp.notAReply", "The server does not speak FTP: it sent \"%1\". Check the port.", text))
    }

    static func replyTooLong(_ limit: Int) -> FTPError {
        FTPError(
            .replyTooLong,
            Sentence("ftp.replyTooLong", "The server sent a reply that is longer than %1 bytes.", "\(limit)"))
    }

    static func tooManyLines(_ limit: Int) -> FTPError {
        FTPError(
            .replyTooLong,
            Sentence("ftp.replyLines", "The server sent a reply of more than %1 lines.", "\(limit)"))
    }

    static func sessionEnded(_ reply: FTPReply) -> FTPError {
        FTPError(
            .connectionLost, reply: reply, Sentence("ftp.ended", "The server ended the session: %1", reply.description))
    }

    /// - Parameter awaited: the outstanding reply, such as "reply to RETR".
    static func connectionLost(before awaited: String) -> FTPError {
        FTPError(
            .connectionLost, Sentence("ftp.lost", "The server closed the control connection before its %1.", awaited))
    }

    static func notSecure(_ what: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .notSecure, reply: reply,
            Sentence(
                "ftp.notSecure", "TLS is required for %1, but the server refused it: %2", what, reply.description))
    }

    static let credentialInClear = FTPError(
        .notSecure, Sentence("ftp.clear", "TLS is required, but the login would be sent without it."))

    /// - Parameter awaited: the outstanding reply, such as "reply to RETR".
    static func tooManyPreliminaries(_ limit: Int, _ awaited: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .unexpectedReply, reply: reply,
            Sentence(
                "ftp.preliminaries", "The server sent more than %1 preliminary replies before its %2: %3", "\(limit)",
                awaited,
                reply.description))
    }

    static let injected = FTPError(
        .notSecure,
        Sentence(
            "ftp.injected",
            "Data arrived between the server's consent to TLS and the handshake; an attacker may have injected it."
        ))

    static let endlessTLS = FTPError(
        .unexpectedReply,
        Sentence("ftp.endlessTLS", "The server still sends TLS data although it agreed to end TLS (CCC)."))

    static func badURL(_ reason: String) -> FTPError {
        FTPError(.badURL, Sentence("ftp.badURL", "The URL cannot be used with FTP: %1", reason))
    }

    static func badArgument(_ reason: String) -> FTPError {
        FTPError(.badArgument, Sentence("ftp.badArgument", "The command cannot be sent: %1", reason))
    }

    static func cannotResume(_ reply: FTPReply) -> FTPError {
        FTPError(
            .refused, reply: reply, refusesOffset: true,
            Sentence(
                "ftp.cannotResume", "The server cannot start in the middle of the file: %1 Transfer the whole file.",
                reply.description))
    }

    static func incomplete(_ count: UInt64, of expected: UInt64) -> FTPError {
        FTPError(
            .incomplete,
            Sentence(
                "ftp.incomplete", "The server sent %1 bytes instead of %2; the file is not complete.", "\(count)",
                "\(expected)"))
    }

    /// - Parameter limit: the time limit of the first byte after the confirmation.
    static func unserved(for limit: Duration) -> FTPError {
        FTPError(
            .incomplete,
            Sentence("ftp.unserved", "The server confirmed the transfer, but sent no data within %1.", limit.text))
    }

    static func offset(_ offset: UInt64, beyond size: UInt64) -> FTPError {
        FTPError(
            .incomplete, refusesOffset: true,
            Sentence(
                "ftp.offset", "The file on the server has %1 bytes, so the transfer cannot begin at %2.", "\(size)",
                "\(offset)"))
    }

    /// - Parameter limit: the time limit of opening the data connection.
    static func dataTimedOut(after limit: Duration) -> FTPError {
        FTPError(.timedOut, Sentence("ftp.dataTimedOut", "No data connection within %1.", limit.text))
    }

    static let contradictorySecurity = FTPError(
        .badArgument,
        Sentence(
            "ftp.contradictorySecurity",
            "The scheme ftps or a TLS configuration requires TLS, but FTPOptions.security allows clear text; set it to required."
        ))

    static let dataWithoutControl = FTPError(
        .badArgument,
        Sentence(
            "ftp.dataWithoutControl",
            "FTPOptions.security requires TLS for data connections but not for the control connection; FTP does not support that. Set control to required."
        ))

    static let proxyPasswordWithoutUser = FTPError(
        .badArgument,
        Sentence("ftp.proxyPassword", "The FTP proxy has a password and no user name: set both, or neither."))

    static let contradictoryConfigurations = FTPError(
        .badArgument,
        Sentence(
            "ftp.contradictoryConfigurations",
            "The property tls and FTPOptions.security have different TLS configurations; set only one of them."))

    static let appendsAtOffset = FTPError(
        .badArgument,
        Sentence("ftp.appendsAtOffset", "Appending to a file and writing from an offset cannot be combined."))

    static let activeThroughProxy = FTPError(
        .badArgument,
        Sentence("ftp.active", "Active mode does not work through a proxy; use passive mode, or no proxy."))

    /// - Parameter awaited: the outstanding reply, such as "reply to RETR"; nil if there was no connection yet.
    static func timedOut(awaiting awaited: String?, after limit: Duration) -> FTPError {
        guard let awaited else {
            return FTPError(.timedOut, Sentence("ftp.connect", "No connection within %1.", limit.text))
        }
        return FTPError(
            .timedOut, Sentence("ftp.timedOut", "Connected, but no FTP %1 within %2.", awaited, limit.text))
    }
}

extension Duration {
    /// The duration in milliseconds or seconds, with one decimal at most.
    fileprivate var text: String {
        // What remains of a limit of a whole second may be slightly less than that.
        let (value, unit) = self < .milliseconds(950) ? (self / .milliseconds(1), "ms") : (self / .seconds(1), "s")
        return "\((value * 10).rounded() / 10) \(unit)".replacing(".0 ", with: " ")
    }
}
