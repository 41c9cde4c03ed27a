internal import EventLoops
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
        let reason: StreamErrorReason?
        let underlying: (any Error)?
        let details: [StreamErrorDetail: StreamErrorDetail.Value]
        let report: ConnectionReport?

        init(
            domain: StreamErrorDomain, code: Int, sentence: Sentence, reason: StreamErrorReason?,
            underlying: (any Error)?, details: [StreamErrorDetail: StreamErrorDetail.Value],
            report: ConnectionReport? = nil
        ) {
            self.domain = domain
            self.code = code
            self.sentence = sentence
            self.reason = reason
            self.underlying = underlying
            self.details = details
            self.report = report
        }
    }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - domain: the domain that defines `code`.
    ///   - code: the number within the domain.
    ///   - sentence: the message: what failed, where, and what to do.
    ///   - reason: the cause, for programs, if the code alone does not tell it.
    ///   - underlying: the error that caused this one.
    ///   - details: further facts for ``details``, beyond domain and code.
    public init(
        domain: StreamErrorDomain, code: Int, sentence: Sentence, reason: StreamErrorReason? = nil,
        underlying: (any Error)? = nil, details: [StreamErrorDetail: StreamErrorDetail.Value] = [:]
    ) {
        content = Content(
            domain: domain, code: code, sentence: sentence, reason: reason, underlying: underlying, details: details)
    }

    /// The domain that defines ``code``.
    public var domain: StreamErrorDomain { content.domain }

    /// The number of the failure within ``domain``.
    public var code: Int { content.code }

    /// The cause, for programs, where the code alone does not tell it; nil otherwise. Equality ignores it.
    public var reason: StreamErrorReason? { content.reason }

    /// The message, which can be localized.
    public var sentence: Sentence { content.sentence }

    /// The error of the layer below that caused this one.
    public var underlying: (any Error)? { content.underlying }

    /// The steps of the connection that failed, if the error comes from a load or from a call that hides its stream; nil otherwise,
    /// and if no step was taken.
    ///
    /// ```swift
    /// do {
    ///     page = try await session.get(url)
    /// } catch {
    ///     print(error, error.report.map { "\n\($0)" } ?? "")
    /// }
    /// ```
    public var report: ConnectionReport? { content.report }

    /// Returns the error with the steps of its connection, unless it has some already. Equality ignores them.
    public func with(_ report: ConnectionReport) -> StreamError {
        if content.report != nil || report.steps.isEmpty { return self }
        return StreamError(
            Content(
                domain: domain, code: code, sentence: sentence, reason: reason, underlying: underlying,
                details: content.details, report: report))
    }

    /// Returns the error with further ``details``, which replace those of the same keys. Equality ignores them.
    public func with(_ details: [StreamErrorDetail: StreamErrorDetail.Value]) -> StreamError {
        StreamError(
            Content(
                domain: domain, code: code, sentence: sentence, reason: reason, underlying: underlying,
                details: content.details.merging(details) { $1 }, report: content.report))
    }

    private init(_ content: Content) {
        self.content = content
    }

    /// The details passed to the initializer.
    var ownDetails: [StreamErrorDetail: StreamErrorDetail.Value] { content.details }

    /// Whether this is an `errno` error with the given number.
    public func isPOSIX(_ number: Int32) -> Bool {
        domain == .posix && code == Int(number)
    }

    /// Whether a time limit expired, in any layer: a limit of the stream or of a load, or the kernel's for a connection.
    ///
    /// ```swift
    /// do {
    ///     page = try await session.get(url)
    /// } catch where error.isTimeout {
    ///     page = nil
    /// }
    /// ```
    public var isTimeout: Bool { isPOSIX(ETIMEDOUT) || (underlying as? StreamError)?.isTimeout == true }

    /// Whether the task that made the call was cancelled.
    public var isCancellation: Bool { isPOSIX(ECANCELED) || (underlying as? StreamError)?.isCancellation == true }

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
    public init(
        posix number: Int32, _ sentence: Sentence? = nil, reason: StreamErrorReason? = nil,
        underlying: (any Error)? = nil
    ) {
        self.init(
            domain: .posix, code: Int(number), sentence: sentence ?? .posix(number), reason: reason,
            underlying: underlying)
    }
}

/// The domain that defines the codes of a ``StreamError``. The numbers are CFNetwork's. Replaces `CFStreamErrorDomain`.
public struct StreamErrorDomain: RawRepresentable, Sendable, Hashable {
    /// CFNetwork's number for the domain.
    public let rawValue: Int

    /// Makes a domain with any number, including one that has no name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Numbers that an application defines.
    public static let custom = StreamErrorDomain(rawValue: -1)
    /// `errno` values.
    public static let posix = StreamErrorDomain(rawValue: 1)
    /// `OSStatus` values; StreamKit produces none.
    public static let macOSStatus = StreamErrorDomain(rawValue: 2)
    /// SecureTransport's numbers, -9800 and below; see ``TLSFailure``.
    public static let ssl = StreamErrorDomain(rawValue: 3)
    /// `kCFStreamErrorHTTP…` values. An HTTP status code is never one of them.
    public static let http = StreamErrorDomain(rawValue: 4)
    /// SOCKS errors: a subdomain times 65536 plus a value.
    public static let socks = StreamErrorDomain(rawValue: 5)
    /// Reply codes of an FTP server.
    public static let ftp = StreamErrorDomain(rawValue: 6)
    /// `kCFNetServicesError…` values.
    public static let netServices = StreamErrorDomain(rawValue: 10)
    /// Mach errors; StreamKit produces none.
    public static let mach = StreamErrorDomain(rawValue: 11)
    /// `EAI_…` values of name lookups.
    public static let netDB = StreamErrorDomain(rawValue: 12)
    /// Errors of SystemConfiguration; StreamKit produces none.
    public static let systemConfiguration = StreamErrorDomain(rawValue: 13)
}

extension StreamErrorDomain: CustomStringConvertible {
    /// The name of the constant, such as `posix`; otherwise the number.
    public var description: String {
        switch self {
        case .custom: "custom"
        case .posix: "posix"
        case .macOSStatus: "macOSStatus"
        case .ssl: "ssl"
        case .http: "http"
        case .socks: "socks"
        case .ftp: "ftp"
        case .netServices: "netServices"
        case .mach: "mach"
        case .netDB: "netDB"
        case .systemConfiguration: "systemConfiguration"
        default: "\(rawValue)"
        }
    }
}

/// A key of ``StreamError/details``: facts about an error beyond its domain and code.
///
/// The raw values are CFNetwork's keys in the `userInfo` of a `CFError`.
public struct StreamErrorDetail: RawRepresentable, Hashable, Sendable {
    /// The name of the key.
    public let rawValue: String

    /// Makes a key with any name, including one of your own.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A number or a text, whichever CFNetwork uses for the key.
    public enum Value: Hashable, Sendable {
        /// A number.
        case number(Int)
        /// A text.
        case text(String)
    }

    /// A number: the `EAI_…` value of a failed lookup, as Darwin numbers it. Replaces `kCFGetAddrInfoFailureKey`.
    public static let addressInfoFailure = Self(rawValue: "kCFGetAddrInfoFailureKey")
    /// A text: the status in a SOCKS proxy's reply to the request or to the login. Replaces `kCFSOCKSStatusCodeKey`.
    public static let socksStatus = Self(rawValue: "kCFSOCKSStatusCodeKey")
    /// A text: the protocol version in a SOCKS proxy's reply. Replaces `kCFSOCKSVersionKey`.
    public static let socksVersion = Self(rawValue: "kCFSOCKSVersionKey")
    /// A text: the authentication method that a SOCKS proxy selected. Replaces `kCFSOCKSNegotiationMethodKey`.
    public static let socksMethod = Self(rawValue: "kCFSOCKSNegotiationMethodKey")
    /// A number: an error code of `dns_sd.h`. Replaces `kCFDNSServiceFailureKey`.
    public static let discoveryFailure = Self(rawValue: "kCFDNSServiceFailureKey")
    /// A text: the code of an FTP server's last reply. Replaces `kCFFTPStatusCodeKey`.
    public static let ftpStatus = Self(rawValue: "kCFFTPStatusCodeKey")
    /// A text: host and port of an HTTP proxy that could not be connected to. Domain and code tell why.
    ///
    /// ``StreamError/networkErrorNumber`` is then ``NetworkErrorNumber/httpProxyConnectionFailure``.
    public static let unreachableProxy = Self(rawValue: "NetKit.unreachableProxy")
}

extension StreamError {
    /// Facts about the error beyond domain and code.
    ///
    /// ```swift
    /// error.details[.socksStatus]     // .text("91"): a SOCKS 4 proxy refused
    /// ```
    ///
    /// Replaces the keys of `CFNetworkErrors.h` in the `userInfo` of a `CFError`.
    public var details: [StreamErrorDetail: StreamErrorDetail.Value] {
        switch domain {
        case .netDB: ownDetails.merging([.addressInfoFailure: .number(code)]) { $1 }
        case .ftp: [.ftpStatus: .text(String(code))]
        case .socks:
            switch socksFailure?.subdomain {
            case .version: [.socksVersion: .text(String(code & 0xFFFF))]
            case .method: [.socksMethod: .text(String(code & 0xFFFF))]
            case .reply4, .reply5, .authentication: [.socksStatus: .text(String(code & 0xFFFF))]
            case .none?, nil: [:]
            }
        default: ownDetails
        }
    }
}
