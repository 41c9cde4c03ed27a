internal import HTTPAuth
internal import StreamKit

#if Logging
internal import Logging
#endif

/// What becomes of a login, round by round.
enum LoginNews: String {
    /// There is a credential, or none is needed: it is tried with the next request.
    case begins
    /// The next leg, or a fresh nonce.
    case goesOn = "goes on"
    case accepted
    case refused
    /// Nobody has a credential for what is asked.
    case unanswered

    /// Tells the stream's logger: whom the login is to and by which scheme, never as whom or with what. Without the trait
    /// `Logging` nobody is told, and nothing is done for it.
    @inline(__always)
    static func tell(
        _ news: LoginNews, at place: ProtectionSpace, by method: AuthenticationMethod?, _ stream: ReadStream
    ) {
        #if Logging
        stream[.logger]?.debug(
            "Login \(news.rawValue)",
            metadata: ["place": "\(place)", "scheme": "\(method?.name ?? "none")", "outcome": "\(news.rawValue)"])
        #endif
    }
}
