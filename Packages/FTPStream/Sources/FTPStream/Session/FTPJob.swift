/// What is to be done on a session.
enum FTPJob: Sendable, Hashable {
    /// How a directory is listed.
    enum Listing: Sendable, Hashable {
        case automatic, list, names, facts
    }

    /// How a file is written.
    enum Writing: Sendable, Hashable {
        case replace
        case resume(UInt64)
        case append
    }

    case retrieve([UInt8], offset: UInt64, asksSize: Bool, isASCII: Bool)
    case list([UInt8], Listing)
    case store([UInt8], Writing, isASCII: Bool)
    /// Commands in order; each must succeed, all but the last may give 3xx.
    case commands([FTPCommand])
    /// SIZE, which means something in binary only.
    case size([UInt8])
    /// One command whose reply is wanted whatever it is.
    case raw(FTPCommand)

    /// True if bytes move on a data connection.
    var movesData: Bool {
        switch self {
        case .retrieve, .list, .store: true
        case .commands, .size, .raw: false
        }
    }
}
