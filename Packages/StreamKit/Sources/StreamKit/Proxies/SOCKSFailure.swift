/// What went wrong with a SOCKS proxy: the codes of errors whose domain is ``StreamErrorDomain/socks``.
///
/// ```swift
/// do {
///     try await stream.opened()
/// } catch where error.socksFailure == .connectionRefused {
///     …
/// }
/// ```
///
/// A sub-domain, 65536 times, plus a value: CFNetwork's numbers. Replaces `CFSocketStreamSOCKSGetErrorSubdomain` and
/// `CFSocketStreamSOCKSGetError`.
public struct SOCKSFailure: RawRepresentable, Sendable, Hashable {
    /// Whose value ``SOCKSFailure/value`` is. The numbers are those of `kCFStreamErrorSOCKS…SubDomain…`.
    public enum Subdomain: Int, Sendable, Hashable {
        /// This side's own findings.
        case none = 0
        /// The version in an answer.
        case version = 1
        /// A SOCKS 4 answer's code.
        case reply4 = 2
        /// The status of user and password.
        case authentication = 3
        /// The method that the proxy chose.
        case method = 4
        /// A SOCKS 5 answer's code (RFC 1928 §6).
        case reply5 = 5
    }

    /// CFNetwork's code.
    public let rawValue: Int

    /// Any code, also one that has no name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A code from its parts.
    public init(_ subdomain: Subdomain, _ value: Int) {
        rawValue = subdomain.rawValue << 16 | value & 0xFFFF
    }

    /// Whose value it is; nil for a code that CFNetwork does not have.
    public var subdomain: Subdomain? { Subdomain(rawValue: rawValue >> 16) }

    /// The value within its sub-domain.
    public var value: Int { rawValue & 0xFFFF }

    /// The answer's bound address is of an unknown kind (`kCFStreamErrorSOCKS5BadResponseAddr`).
    public static let badResponseAddress = SOCKSFailure(.none, 1)
    /// The conversation broke off or made no sense (`kCFStreamErrorSOCKS5BadState`).
    public static let badState = SOCKSFailure(.none, 2)
    /// A version of SOCKS that is not spoken here (`kCFStreamErrorSOCKSUnknownClientVersion`).
    public static let unknownClientVersion = SOCKSFailure(.none, 3)
    /// SOCKS 4: refused or failed (`kCFStreamErrorSOCKS4RequestFailed`).
    public static let requestFailed = SOCKSFailure(.reply4, 91)
    /// SOCKS 4: the proxy cannot reach the client's identd (`kCFStreamErrorSOCKS4IdentdFailed`).
    public static let identdFailed = SOCKSFailure(.reply4, 92)
    /// SOCKS 4: identd names another user (`kCFStreamErrorSOCKS4IdConflict`).
    public static let identityConflict = SOCKSFailure(.reply4, 93)
    /// SOCKS 5: none of the methods offered is acceptable (`kSOCKS5NoAcceptableMethod`).
    public static let noAcceptableMethod = SOCKSFailure(.method, 255)
    /// SOCKS 5: the proxy failed inside.
    public static let generalFailure = SOCKSFailure(.reply5, 1)
    /// SOCKS 5: the proxy's rules forbid it.
    public static let notAllowed = SOCKSFailure(.reply5, 2)
    /// SOCKS 5: no route to the network.
    public static let networkUnreachable = SOCKSFailure(.reply5, 3)
    /// SOCKS 5: no route to the host, or the name is unknown there.
    public static let hostUnreachable = SOCKSFailure(.reply5, 4)
    /// SOCKS 5: the target refused.
    public static let connectionRefused = SOCKSFailure(.reply5, 5)
    /// SOCKS 5: the time to live ran out.
    public static let timeToLiveExpired = SOCKSFailure(.reply5, 6)
    /// SOCKS 5: the proxy does not know the command.
    public static let commandNotSupported = SOCKSFailure(.reply5, 7)
    /// SOCKS 5: the proxy does not know this kind of address.
    public static let addressTypeNotSupported = SOCKSFailure(.reply5, 8)

    /// The code of the same failure among `CFNetworkErrors`, for who compares with `kCFErrorDomainCFNetwork`; nil for the
    /// answers of RFC 1928 §6, which have none there.
    public var networkErrorCode: Int? {
        switch subdomain {
        case .none?: [1: 121, 2: 120, 3: 100][value]
        case .version?: 101
        case .reply4?: [91: 110, 92: 111, 93: 112][value] ?? 113
        case .authentication?: 122
        case .method?: value == 255 ? 124 : 123
        case .reply5?, nil: nil
        }
    }

    /// What the proxy has decided; nil if it made no sense.
    var refusal: TunnelRefusal? {
        switch self {
        case .requestFailed, .networkUnreachable, .hostUnreachable, .connectionRefused, .timeToLiveExpired,
            .addressTypeNotSupported:
            .address
        default:
            switch subdomain {
            case .reply4?, .reply5?, .authentication?: .request
            case .method?: value == 255 ? .request : nil
            case .none?, .version?, nil: nil
            }
        }
    }
}

extension StreamError {
    /// What went wrong with a SOCKS proxy; nil if the error is of another domain.
    public var socksFailure: SOCKSFailure? {
        domain == .socks ? SOCKSFailure(rawValue: code) : nil
    }

    init(_ failure: SOCKSFailure, _ sentence: Sentence) {
        self.init(domain: .socks, code: failure.rawValue, sentence: sentence)
    }
}
