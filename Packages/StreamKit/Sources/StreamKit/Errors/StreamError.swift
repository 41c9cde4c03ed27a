internal import Glibc

/// Why a stream failed: a domain and a code for programs, a sentence for people.
///
/// ```swift
/// do {
///     let count = try await stream.read(into: &buffer)
/// } catch .cancelled {
///     return
/// } catch where error.isPOSIX(ECONNREFUSED) {
///     print(error)       // The connection to 192.0.2.7 port 80 was refused: nothing listens there.
/// }
/// ```
///
/// The domains and codes are CFNetwork's where it has them. Two errors are equal if domain and code are. Replaces
/// `CFStreamError` and the `CFError` of `CFReadStreamCopyError`.
public struct StreamError: Error, Hashable, Sendable {
    /// One reference, so that throwing functions carry a single word.
    private let content: Content

    private final class Content: Sendable {
        let domain: StreamErrorDomain
        let code: Int
        let sentence: Sentence
        let underlying: (any Error)?
        let details: [StreamErrorDetail: StreamErrorDetail.Value]

        init(
            domain: StreamErrorDomain, code: Int, sentence: Sentence, underlying: (any Error)?,
            details: [StreamErrorDetail: StreamErrorDetail.Value]
        ) {
            self.domain = domain
            self.code = code
            self.sentence = sentence
            self.underlying = underlying
            self.details = details
        }
    }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - domain: whose number `code` is.
    ///   - code: the number.
    ///   - sentence: says in plain words what failed, where, and what to do.
    ///   - underlying: the error behind this one.
    ///   - details: what ``details`` tells that is not in domain and code.
    public init(
        domain: StreamErrorDomain, code: Int, sentence: Sentence, underlying: (any Error)? = nil,
        details: [StreamErrorDetail: StreamErrorDetail.Value] = [:]
    ) {
        content = Content(
            domain: domain, code: code, sentence: sentence, underlying: underlying, details: details)
    }

    /// Whose numbers ``code`` is one of.
    public var domain: StreamErrorDomain { content.domain }

    /// The number, within ``domain``.
    public var code: Int { content.code }

    /// What happened, in words that can be localized.
    public var sentence: Sentence { content.sentence }

    /// The error of the layer below, of which this is the consequence.
    public var underlying: (any Error)? { content.underlying }

    /// What was given as details when the error was made.
    var ownDetails: [StreamErrorDetail: StreamErrorDetail.Value] { content.details }

    /// True for this `errno` value.
    public func isPOSIX(_ number: Int32) -> Bool {
        domain == .posix && code == Int(number)
    }

    /// Compares domain and code.
    public static func == (left: StreamError, right: StreamError) -> Bool {
        left.content === right.content || (left.domain == right.domain && left.code == right.code)
    }

    /// Hashes domain and code.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(domain)
        hasher.combine(code)
    }
}

extension StreamError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The sentence.
    public var description: String { sentence.description }

    /// The sentence, then domain and code.
    public var debugDescription: String { "\(sentence) (domain \(domain), code \(code))" }
}

extension StreamError {
    /// The task was cancelled. A cancelled read took nothing and the stream stays usable.
    public static let cancelled = StreamError(posix: ECANCELED, .cancelled)

    /// Closed on this side, before or during the call.
    public static let closed = StreamError(posix: ESHUTDOWN, .closed)

    /// Another call is under way on this half of the stream.
    public static let busy = StreamError(posix: EBUSY, .busy)

    /// A time limit of the stream passed.
    public static let timedOut = StreamError(posix: ETIMEDOUT, .timedOut)

    /// Not opened yet.
    public static let notOpen = StreamError(posix: ENOTCONN, .notOpen)

    /// Opened before; a stream is opened once.
    public static let alreadyOpened = StreamError(posix: EALREADY, .alreadyOpened)

    /// An `errno` value, with the sentence for it unless a better one is given.
    public init(posix number: Int32, _ sentence: Sentence? = nil, underlying: (any Error)? = nil) {
        self.init(
            domain: .posix, code: Int(number), sentence: sentence ?? .posix(number), underlying: underlying)
    }
}
