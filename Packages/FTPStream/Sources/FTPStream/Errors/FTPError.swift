public import StreamKit

/// Why FTP did not work: what was refused, or what the server did that no server may.
///
/// Streams throw it as a `StreamError` of domain `StreamErrorDomain.ftp` whose code is the reply's,
/// and whose `StreamError.underlying` is this. Replaces `kCFFTPErrorUnexpectedStatusCode` and
/// `kCFFTPStatusCodeKey`.
public struct FTPError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure.
    public enum Code: Sendable, Hashable {
        /// The server refused a command: ``FTPError/reply`` says why.
        case refused
        /// The user name, password or account was refused.
        case loginRefused
        /// The reply does not belong to what was asked.
        case unexpectedReply
        /// What came is no reply at all.
        case notAReply
        /// A reply is too long.
        case replyTooLong
        /// The server ends the session (421), or has ended it.
        case connectionLost
        /// TLS was required, and the server does not do it.
        case notSecure
        /// The URL cannot be used with FTP.
        case badURL
        /// A name or command that cannot be sent.
        case badArgument
        /// No reply came in time.
        case timedOut
    }

    /// What kind of failure.
    public let code: Code

    /// What the server said; nil if it said nothing.
    public let reply: FTPReply?

    /// What happened, in words that can be localized.
    public let sentence: Sentence

    init(_ code: Code, reply: FTPReply? = nil, _ sentence: Sentence) {
        self.code = code
        self.reply = reply
        self.sentence = sentence
    }

    /// The sentence.
    public var description: String { sentence.description }
}

extension StreamError {
    /// The error as streams throw it.
    public init(_ error: FTPError) {
        let domain: StreamErrorDomain
        let code: Int
        switch error.code {
        case .refused, .loginRefused, .unexpectedReply, .connectionLost, .notSecure:
            // A lost connection without a reply is the system's affair, as with CFNetwork.
            domain = error.reply == nil && error.code == .connectionLost ? .posix : .ftp
            code = error.reply?.code ?? (error.code == .connectionLost ? 107 : 200)  // ENOTCONN
        case .notAReply, .replyTooLong: (domain, code) = (.ftp, 200)  // kCFFTPErrorUnexpectedStatusCode
        case .badURL, .badArgument: (domain, code) = (.posix, 22)  // EINVAL
        case .timedOut: (domain, code) = (.posix, 110)  // ETIMEDOUT
        }
        self.init(domain: domain, code: code, sentence: error.sentence, underlying: error)
    }
}
