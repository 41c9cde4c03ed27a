/// The numbers under which CFNetwork reports failures of HTTP, for code that compares them.
///
/// The raw value is the code within the stream error domain for HTTP, number ``streamErrorDomain``; ``cfErrorCode`` is
/// the code of the same cause in `kCFErrorDomainCFNetwork`. An HTTP status is never an error number.
///
/// ```swift
/// HTTPErrorNumber.parseFailure.rawValue     // -1
/// HTTPErrorNumber.parseFailure.cfErrorCode  // 303
/// ```
///
/// Replaces `kCFStreamErrorHTTP…` and `kCFErrorHTTP…`.
public enum HTTPErrorNumber: Int, CaseIterable, Sendable {
    /// The answer is not HTTP. Replaces `kCFStreamErrorHTTPParseFailure`.
    case parseFailure = -1
    /// A redirect led to a URL seen before. Replaces `kCFStreamErrorHTTPRedirectionLoop`.
    case redirectionLoop = -2
    /// The URL cannot be requested. Replaces `kCFStreamErrorHTTPBadURL`.
    case badURL = -3
    /// The peer went away within a message; CFNetwork keeps this number to itself.
    case connectionLost = -4
    /// No challenge names a usable scheme. Replaces `kCFStreamErrorHTTPAuthenticationTypeUnsupported`.
    case authenticationTypeUnsupported = -1000
    /// The user name was refused. Replaces `kCFStreamErrorHTTPAuthenticationBadUserName`.
    case badUserName = -1001
    /// The password was refused. Replaces `kCFStreamErrorHTTPAuthenticationBadPassword`.
    case badPassword = -1002

    /// The number of the domain. Replaces `kCFStreamErrorDomainHTTP`.
    public static let streamErrorDomain = 4

    /// The name of the domain of ``cfErrorCode`` and of ``ProxyError``.
    public static let cfErrorDomain = "kCFErrorDomainCFNetwork"

    /// The code of the same cause in `kCFErrorDomainCFNetwork`.
    public var cfErrorCode: Int {
        switch self {
        case .authenticationTypeUnsupported: 300
        case .badUserName, .badPassword: 301
        case .connectionLost: 302
        case .parseFailure: 303
        case .redirectionLoop: 304
        case .badURL: 305
        }
    }

    /// Failures of a proxy on the way, which exist in `kCFErrorDomainCFNetwork` only.
    public enum ProxyError: Int, CaseIterable, Sendable {
        /// Replaces `kCFErrorHTTPProxyConnectionFailure`.
        case connectionFailure = 306
        /// Replaces `kCFErrorHTTPBadProxyCredentials`.
        case badCredentials = 307
        /// Replaces `kCFErrorPACFileError`.
        case automaticConfigurationFile = 308
        /// Replaces `kCFErrorPACFileAuth`.
        case automaticConfigurationFileAuthentication = 309
        /// Replaces `kCFErrorHTTPSProxyConnectionFailure`.
        case tunnelConnectionFailure = 310
        /// Replaces `kCFStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod`.
        case unexpectedResponseToConnect = 311
    }
}

extension HTTPMessageError {
    /// The number CFNetwork gives to this cause; nil for the caller's own mistakes, which CFNetwork does not report.
    public var number: HTTPErrorNumber? {
        switch (fault, code) {
        case (_, .invalidURL): .badURL
        case (.caller, _): nil
        case (.peer, .truncated): .connectionLost
        case (.peer, _): .parseFailure
        }
    }
}
