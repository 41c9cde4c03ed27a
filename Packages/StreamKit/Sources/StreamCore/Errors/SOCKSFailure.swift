/// The cause of a SOCKS failure: the code of an error whose domain is ``StreamErrorDomain/socks``.
///
/// ```swift
/// do {
///     try await stream.opened()
/// } catch where error.socksFailure == .connectionRefused {
///     print("The proxy could not connect.")
/// }
/// ```
///
/// The code is a sub-domain times 65536, plus a value, with CFNetwork's numbers. Replaces
/// `CFSocketStreamSOCKSGetErrorSubdomain` and `CFSocketStreamSOCKSGetError`.
public struct SOCKSFailure: RawRepresentable, Sendable, Hashable {
    /// The origin of a ``SOCKSFailure/value``. The numbers are those of `kCFStreamErrorSOCKS…SubDomain…`.
    public enum Subdomain: Int, Sendable, Hashable {
        /// A failure that this library detected.
        case none = 0
        /// The version in a reply.
        case version = 1
        /// The code of a SOCKS 4 reply.
        case reply4 = 2
        /// The status of a login with user name and password.
        case authentication = 3
        /// The method that the proxy chose.
        case method = 4
        /// The code of a SOCKS 5 reply (RFC 1928 §6).
        case reply5 = 5
    }

    /// CFNetwork's code.
    public let rawValue: Int

    /// Makes a failure of any code, including one without a name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Makes a failure from its parts.
    public init(_ subdomain: Subdomain, _ value: Int) {
        rawValue = subdomain.rawValue << 16 | value & 0xFFFF
    }

    /// The origin of the value; nil for a code that CFNetwork does not have.
    public var subdomain: Subdomain? { Subdomain(rawValue: rawValue >> 16) }

    /// The value within its sub-domain.
    public var value: Int { rawValue & 0xFFFF }

    /// The reply's bound address is of an unknown kind (`kCFStreamErrorSOCKS5BadResponseAddr`).
    public static let badResponseAddress = SOCKSFailure(.none, 1)
    /// The conversation ended early or was invalid (`kCFStreamErrorSOCKS5BadState`).
    public static let badState = SOCKSFailure(.none, 2)
    /// A version of SOCKS that is not supported here (`kCFStreamErrorSOCKSUnknownClientVersion`).
    public static let unknownClientVersion = SOCKSFailure(.none, 3)
    /// SOCKS 4: refused or failed (`kCFStreamErrorSOCKS4RequestFailed`).
    public static let requestFailed = SOCKSFailure(.reply4, 91)
    /// SOCKS 4: the proxy cannot reach the client's identd (`kCFStreamErrorSOCKS4IdentdFailed`).
    public static let identdFailed = SOCKSFailure(.reply4, 92)
    /// SOCKS 4: identd reports another user (`kCFStreamErrorSOCKS4IdConflict`).
    public static let identityConflict = SOCKSFailure(.reply4, 93)
    /// SOCKS 5: the proxy accepts no offered method (`kSOCKS5NoAcceptableMethod`).
    public static let noAcceptableMethod = SOCKSFailure(.method, 255)
    /// SOCKS 5: general failure of the proxy.
    package static let generalFailure = SOCKSFailure(.reply5, 1)
    /// SOCKS 5: forbidden by the proxy's rules.
    public static let notAllowed = SOCKSFailure(.reply5, 2)
    /// SOCKS 5: no route to the network.
    package static let networkUnreachable = SOCKSFailure(.reply5, 3)
    /// SOCKS 5: no route to the host, or the proxy cannot resolve its name.
    public static let hostUnreachable = SOCKSFailure(.reply5, 4)
    /// SOCKS 5: the target refused the connection.
    public static let connectionRefused = SOCKSFailure(.reply5, 5)
    /// SOCKS 5: the time to live expired.
    package static let timeToLiveExpired = SOCKSFailure(.reply5, 6)
    /// SOCKS 5: the proxy does not support this kind of address.
    package static let addressTypeNotSupported = SOCKSFailure(.reply5, 8)

    /// The code of the same failure among `CFNetworkErrors`, to compare with those of `kCFErrorDomainCFNetwork`. Nil
    /// for the replies of RFC 1928 §6, which have none there.
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
}

extension StreamError {
    /// The cause of a SOCKS failure; nil for an error of another domain.
    public var socksFailure: SOCKSFailure? {
        domain == .socks ? SOCKSFailure(rawValue: code) : nil
    }

    package init(_ failure: SOCKSFailure, _ sentence: Sentence) {
        self.init(domain: .socks, code: failure.rawValue, sentence: sentence)
    }
}
