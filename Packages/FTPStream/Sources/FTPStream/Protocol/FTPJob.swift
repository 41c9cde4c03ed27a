/// A job on a session.
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
    /// Commands in order. Each must succeed; all but the last may be answered with 3xx.
    case commands([FTPCommand])
    /// SIZE, in binary mode: servers refuse it in text mode, or count converted line ends.
    case size([UInt8])
    /// One command; its reply is the result, even a refusal.
    case raw(FTPCommand)
}
