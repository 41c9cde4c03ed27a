internal import Glibc

/// The failure of a stream or socket: a domain and a code for programs, a message for users.
///
/// ```swift
/// do {
///     let count = try await stream.read(into: &buffer)
/// } catch .cancelled {
///     return
/// } catch where error.isPOSIX(ECONNREFUSED) {
///     print(error)       // The connection to 192.0.2.7:80 was refused: nothing is listening there.
/// }
/// ```
///
/// Domains and codes are those of CFNetwork where it defines them. Two errors are equal if their domains and codes are
/// equal. Replaces `CFStreamError` and the `CFError` of `CFReadStreamCopyError`.
public struct StreamError: Error, Hashable, Sendable {
    /// A single reference, so that throwing functions return one word.
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
    ///   - domain: the domain that defines `code`.
    ///   - code: the number within the domain.
    ///   - sentence: the message: what failed, where, and what to do.
    ///   - underlying: the error that caused this one.
    ///   - details: further facts for ``details``, beyond domain and code.
    public init(
        domain: StreamErrorDomain, code: Int, sentence: Sentence, underlying: (any Error)? = nil,
        details: [StreamErrorDetail: StreamErrorDetail.Value] = [:]
    ) {
        content = Content(
            domain: domain, code: code, sentence: sentence, underlying: underlying, details: details)
    }

    /// The domain that defines ``code``.
    public var domain: StreamErrorDomain { content.domain }

    /// The number of the failure within ``domain``.
    public var code: Int { content.code }

    /// The message, which can be localized.
    public var sentence: Sentence { content.sentence }

    /// The error of the layer below that caused this one.
    public var underlying: (any Error)? { content.underlying }

    /// The details passed to the initializer.
    var ownDetails: [StreamErrorDetail: StreamErrorDetail.Value] { content.details }

    /// Whether this is an `errno` error with the given number.
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
    /// The message.
    public var description: String { sentence.description }

    /// The message, followed by domain and code.
    public var debugDescription: String { "\(sentence) (domain \(domain), code \(code))" }
}

extension StreamError {
    /// The task was cancelled. A cancelled read consumed nothing, and the stream stays usable.
    public static let cancelled = StreamError(posix: ECANCELED, .cancelled)

    /// The stream was closed on this side, before or during the call.
    public static let closed = StreamError(posix: ESHUTDOWN, .closed)

    /// Another call is in progress on this half of the stream.
    public static let busy = StreamError(posix: EBUSY, .busy)

    /// A time limit of the stream expired.
    public static let timedOut = StreamError(posix: ETIMEDOUT, .timedOut)

    /// The stream has not been opened yet.
    public static let notOpen = StreamError(posix: ENOTCONN, .notOpen)

    /// The stream has been opened before; a stream can be opened only once.
    public static let alreadyOpened = StreamError(posix: EALREADY, .alreadyOpened)

    /// Makes an error from an `errno` value, with the default message for it unless `sentence` is given.
    public init(posix number: Int32, _ sentence: Sentence? = nil, underlying: (any Error)? = nil) {
        self.init(
            domain: .posix, code: Int(number), sentence: sentence ?? .posix(number), underlying: underlying)
    }
}
