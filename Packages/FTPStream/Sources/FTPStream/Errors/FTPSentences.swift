internal import StreamKit

/// The catalogue of FTP's sentences.
extension FTPError {
    static func refused(_ command: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .refused, reply: reply, Sentence("ftp.refused", "The server refused %1: %2", command, reply.description))
    }

    static func loginRefused(_ reply: FTPReply) -> FTPError {
        FTPError(
            .loginRefused, reply: reply,
            Sentence(
                "ftp.login", "The server refused the log-in: %1 Check the user name and the password.",
                reply.description))
    }

    static func accountNeeded(_ reply: FTPReply) -> FTPError {
        FTPError(
            .loginRefused, reply: reply,
            Sentence("ftp.account", "The server wants an account besides the password: %1", reply.description))
    }

    static func unexpected(_ command: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .unexpectedReply, reply: reply,
            Sentence("ftp.unexpected", "The server's answer to %1 makes no sense: %2", command, reply.description))
    }

    static func notAReply(_ line: [UInt8]) -> FTPError {
        let text = ListingEntry(nameBytes: line.prefix(60).filter { $0 >= 0x20 && $0 != 0x7F }).name
        return FTPError(
            .notAReply,
            Sentence("ftp.notAReply", "The server does not speak FTP: it sent \"%1\". Check the port.", text))
    }

    static func replyTooLong(_ limit: Int) -> FTPError {
        FTPError(
            .replyTooLong,
            Sentence("ftp.replyTooLong", "The server sent a reply of more than %1 bytes without an end.", "\(limit)"))
    }

    static func sessionEnded(_ reply: FTPReply) -> FTPError {
        FTPError(
            .connectionLost, reply: reply, Sentence("ftp.ended", "The server ended the session: %1", reply.description))
    }

    static func connectionLost(_ step: String) -> FTPError {
        FTPError(
            .connectionLost, Sentence("ftp.lost", "The server closed the control connection while %1.", step))
    }

    static func notSecure(_ what: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .notSecure, reply: reply,
            Sentence(
                "ftp.notSecure", "TLS is required for %1, and the server does not do it: %2", what, reply.description))
    }

    static let credentialInClear = FTPError(
        .notSecure, Sentence("ftp.clear", "TLS is required, and the log-in would go in the clear."))

    static func tooManyPreliminaries(_ limit: Int, _ step: String, _ reply: FTPReply) -> FTPError {
        FTPError(
            .unexpectedReply, reply: reply,
            Sentence(
                "ftp.preliminaries", "The server sent more than %1 preliminary replies while %2: %3", "\(limit)", step,
                reply.description))
    }

    static let injected = FTPError(
        .notSecure,
        Sentence(
            "ftp.injected",
            "Bytes came between the server's leave to begin TLS and the handshake; somebody on the way may have put them in."
        ))

    static let endlessTLS = FTPError(
        .unexpectedReply,
        Sentence("ftp.endlessTLS", "The server goes on talking in TLS, though it had agreed to end it (CCC)."))

    static func badURL(_ reason: String) -> FTPError {
        FTPError(.badURL, Sentence("ftp.badURL", "The URL cannot be used with FTP: %1", reason))
    }

    static func badArgument(_ reason: String) -> FTPError {
        FTPError(.badArgument, Sentence("ftp.badArgument", "The command cannot be sent: %1", reason))
    }

    static func cannotResume(_ reply: FTPReply) -> FTPError {
        FTPError(
            .refused, reply: reply,
            Sentence(
                "ftp.cannotResume", "The server cannot begin in the middle of the file: %1 Transfer the whole file.",
                reply.description))
    }

    static let contradictorySecurity = FTPError(
        .badArgument,
        Sentence(
            "ftp.contradictorySecurity",
            "TLS is demanded by the scheme ftps or a TLS configuration, and ftpSecurity allows clear text: set ftpSecurity to required."
        ))

    static let contradictoryConfigurations = FTPError(
        .badArgument,
        Sentence(
            "ftp.contradictoryConfigurations",
            "The properties tls and ftpSecurity carry different TLS configurations: set one of them."))

    static let appendsAtOffset = FTPError(
        .badArgument,
        Sentence("ftp.appendsAtOffset", "A file is either added to at its end or written from an offset, not both."))

    static let activeThroughProxy = FTPError(
        .badArgument,
        Sentence("ftp.active", "The server cannot connect to us through a proxy: use passive mode, or no proxy."))

    static func timedOut(_ step: String) -> FTPError {
        FTPError(.timedOut, Sentence("ftp.timedOut", "The server did not answer in time while %1.", step))
    }
}

extension StreamError {
}
