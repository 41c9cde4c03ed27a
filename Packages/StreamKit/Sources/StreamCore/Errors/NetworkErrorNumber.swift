/// The error numbers of `kCFErrorDomainCFNetwork`, for code that compares with them.
///
/// ```swift
/// if error.networkErrorNumber == .unknownHost { print("unknown host") }     // code 2 in the error of CFReadStreamCopyError
/// ```
///
/// A ``StreamError`` itself carries the numbers of `CFStreamError`, which are more specific. Replaces
/// `CFNetworkErrors`, except its URL loading part (-996…-4000), which belongs to another API.
public enum NetworkErrorNumber: Int, CaseIterable, Sendable {
    /// The name of the domain.
    public static let domain = "kCFErrorDomainCFNetwork"

    /// Replaces `kCFHostErrorHostNotFound`. Failed lookups are reported as ``unknownHost``, as CFHost does.
    case hostNotFound = 1
    /// A lookup failed; ``StreamErrorDetail/addressInfoFailure`` holds the reason. Replaces `kCFHostErrorUnknown`.
    case unknownHost = 2

    /// Replaces `kCFSOCKSErrorUnknownClientVersion`.
    case socksUnknownClientVersion = 100
    /// Replaces `kCFSOCKSErrorUnsupportedServerVersion`.
    case socksUnsupportedServerVersion = 101
    /// Replaces `kCFSOCKS4ErrorRequestFailed`.
    case socks4RequestFailed = 110
    /// Replaces `kCFSOCKS4ErrorIdentdFailed`.
    case socks4IdentdFailed = 111
    /// Replaces `kCFSOCKS4ErrorIdConflict`.
    case socks4IdentityConflict = 112
    /// Replaces `kCFSOCKS4ErrorUnknownStatusCode`.
    case socks4UnknownStatus = 113
    /// Replaces `kCFSOCKS5ErrorBadState`.
    case socks5BadState = 120
    /// Replaces `kCFSOCKS5ErrorBadResponseAddr`.
    case socks5BadResponseAddress = 121
    /// Replaces `kCFSOCKS5ErrorBadCredentials`.
    case socks5BadCredentials = 122
    /// Replaces `kCFSOCKS5ErrorUnsupportedNegotiationMethod`.
    case socks5UnsupportedMethod = 123
    /// Replaces `kCFSOCKS5ErrorNoAcceptableMethod`.
    case socks5NoAcceptableMethod = 124

    /// An FTP server refused; ``StreamErrorDetail/ftpStatus`` is the reply code. Replaces
    /// `kCFFTPErrorUnexpectedStatusCode`.
    case ftpUnexpectedStatus = 200

    /// Replaces `kCFErrorHTTPAuthenticationTypeUnsupported`.
    case httpAuthenticationTypeUnsupported = 300
    /// Replaces `kCFErrorHTTPBadCredentials`.
    case httpBadCredentials = 301
    /// Replaces `kCFErrorHTTPConnectionLost`.
    case httpConnectionLost = 302
    /// Replaces `kCFErrorHTTPParseFailure`.
    case httpParseFailure = 303
    /// Replaces `kCFErrorHTTPRedirectionLoopDetected`.
    case httpRedirectionLoop = 304
    /// Replaces `kCFErrorHTTPBadURL`.
    case httpBadURL = 305
    /// Replaces `kCFErrorHTTPProxyConnectionFailure`.
    case httpProxyConnectionFailure = 306
    /// Replaces `kCFErrorHTTPBadProxyCredentials`.
    case httpBadProxyCredentials = 307
    /// Replaces `kCFErrorPACFileError`.
    case automaticConfigurationFile = 308
    /// Replaces `kCFErrorPACFileAuth`.
    case automaticConfigurationFileAuthentication = 309
    /// Replaces `kCFErrorHTTPSProxyConnectionFailure`.
    case httpsProxyConnectionFailure = 310
    /// Replaces `kCFStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod`.
    case unexpectedResponseToConnect = 311

    /// Replaces `kCFNetServiceErrorUnknown`.
    case serviceUnknown = -72000
    /// Replaces `kCFNetServiceErrorCollision`.
    case serviceCollision = -72001
    /// Replaces `kCFNetServiceErrorNotFound`.
    case serviceNotFound = -72002
    /// Replaces `kCFNetServiceErrorInProgress`.
    case serviceInProgress = -72003
    /// Replaces `kCFNetServiceErrorBadArgument`.
    case serviceBadArgument = -72004
    /// Replaces `kCFNetServiceErrorCancel`.
    case serviceCancelled = -72005
    /// Replaces `kCFNetServiceErrorInvalid`.
    case serviceInvalid = -72006
    /// Replaces `kCFNetServiceErrorTimeout`.
    case serviceTimedOut = -72007
    /// Replaces `NSNetServicesMissingRequiredConfigurationError`.
    case serviceNotConfigured = -72008
    /// The DNS-SD service failed; ``StreamErrorDetail/discoveryFailure`` holds the reason. Replaces
    /// `kCFNetServiceErrorDNSServiceFailure`.
    case discoveryServiceFailure = -73000
}

extension StreamError {
    /// The number of this failure in `kCFErrorDomainCFNetwork`, as `CFReadStreamCopyError` reports it.
    ///
    /// Nil if CFNetwork uses another domain for it (`errno`, TLS) or has no number (the reply codes of a SOCKS 5
    /// proxy).
    public var networkErrorNumber: NetworkErrorNumber? {
        if ownDetails[.unreachableProxy] != nil { return .httpProxyConnectionFailure }
        return switch domain {
        case .netDB: .unknownHost
        case .socks: socksFailure?.networkErrorCode.flatMap(NetworkErrorNumber.init)
        case .ftp: .ftpUnexpectedStatus
        case .netServices: NetworkErrorNumber(rawValue: code)
        case .http:
            switch code {
            case -1: .httpParseFailure
            case -2: .httpRedirectionLoop
            case -3: .httpBadURL
            case -4: .httpConnectionLost
            case -1000: .httpAuthenticationTypeUnsupported
            case -1001, -1002: .httpBadCredentials
            default: NetworkErrorNumber(rawValue: code)  // proxy errors have the same number in both domains
            }
        default: nil
        }
    }
}
