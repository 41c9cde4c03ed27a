/// What came of talking over a connection.
enum TalkOutcome: Sendable, Hashable {
    /// TLS was set up, and nothing further was to be tried.
    case secured
    /// The handshake failed.
    case insecure(StreamError)
    /// An HTTP answer.
    case answered(TalkAnswer)
    /// The redirects come back to where they began; `wantsCookie` if some answer on the way gave a cookie.
    case loops(to: String, wantsCookie: Bool)
    /// An FTP server's greeting: its code.
    case greeted(Int)
    /// What came is not the protocol of the URL.
    case otherProtocol
    /// Nothing came.
    case unanswered(StreamError)
    /// The proxy answered, and not with a connection: its HTTP status.
    case proxyRefused(status: Int)
    /// There was no agreement with the proxy.
    case proxyFailed(StreamError)
}

/// What matters of an HTTP answer's head.
struct TalkAnswer: Sendable, Hashable {
    var status: Int
    /// Where it leads, as it says.
    var location: String?
    /// The names of the schemes by which one may say who one is.
    var schemes: [String] = []
    /// The server's clock, in seconds since 1970.
    var time: Int64?
    /// It wants to be shown a cookie from now on.
    var setsCookie = false
    /// What came with it, where that is wanted.
    var body: [UInt8] = []

    init(status: Int, location: String? = nil, schemes: [String] = [], time: Int64? = nil, setsCookie: Bool = false) {
        self.status = status
        self.location = location
        self.schemes = schemes
        self.time = time
        self.setsCookie = setsCookie
    }
}
