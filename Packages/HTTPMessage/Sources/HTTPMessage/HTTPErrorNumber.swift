/// The error numbers that CFNetwork uses for HTTP failures, for code that compares them.
///
/// The raw value is the code in the stream error domain for HTTP, whose number is ``streamErrorDomain``. ``cfErrorCode`` is the
/// corresponding code in `kCFErrorDomainCFNetwork`. An HTTP status is never an error number.
///
/// ```swift
/// HTTPErrorNumber.parseFailure.rawValue     // -1
/// HTTPErrorNumber.parseFailure.cfErrorCode  // 303
/// ```
///
/// Replaces `kCFStreamErrorHTTP…` and `kCFErrorHTTP…`.
public enum HTTPErrorNumber: Int, CaseIterable, Sendable {
    /// The response is not valid HTTP. Replaces `kCFStreamErrorHTTPParseFailure`.
    case parseFailure = -1
    /// A redirect leads to a URL that was already requested. Replaces `kCFStreamErrorHTTPRedirectionLoop`.
    case redirectionLoop = -2
    /// The URL cannot be requested. Replaces `kCFStreamErrorHTTPBadURL`.
    case badURL = -3
    /// The peer closed the connection within a message. CFNetwork has no public name for this number.
    case connectionLost = -4
    /// No challenge has a usable scheme. Replaces `kCFStreamErrorHTTPAuthenticationTypeUnsupported`.
    case authenticationTypeUnsupported = -1000
    /// The server rejected the user name. Replaces `kCFStreamErrorHTTPAuthenticationBadUserName`.
    case badUserName = -1001
    /// The server rejected the password. Replaces `kCFStreamErrorHTTPAuthenticationBadPassword`.
    case badPassword = -1002

    /// The number of the stream error domain for HTTP. Replaces `kCFStreamErrorDomainHTTP`.
    public static let streamErrorDomain = 4

    /// The name of the error domain of ``cfErrorCode`` and ``ProxyError``.
    public static let cfErrorDomain = "kCFErrorDomainCFNetwork"

    /// The corresponding code in `kCFErrorDomainCFNetwork`.
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

    /// The numbers of proxy failures, which exist in `kCFErrorDomainCFNetwork` only.
    public enum ProxyError: Int, CaseIterable, Sendable {
        /// The connection to the proxy failed. Replaces `kCFErrorHTTPProxyConnectionFailure`.
        case connectionFailure = 306
        /// The proxy rejected the credentials. Replaces `kCFErrorHTTPBadProxyCredentials`.
        case badCredentials = 307
        /// The proxy configuration file (PAC) could not be used. Replaces `kCFErrorPACFileError`.
        case automaticConfigurationFile = 308
        /// The server of the proxy configuration file requires authentication. Replaces `kCFErrorPACFileAuth`.
        case automaticConfigurationFileAuthentication = 309
        /// The tunnel through the proxy could not be established. Replaces `kCFErrorHTTPSProxyConnectionFailure`.
        case tunnelConnectionFailure = 310
        /// The proxy's response to `CONNECT` is not a success.
        ///
        /// Replaces `kCFStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod`.
        case unexpectedResponseToConnect = 311
    }
}

extension HTTPMessageError {
    /// The number that CFNetwork uses for this error. Nil for mistakes of the caller, which CFNetwork does not report.
    public var number: HTTPErrorNumber? {
        switch (fault, code) {
        case (_, .invalidURL): .badURL
        case (.caller, _): nil
        case (.peer, .truncated): .connectionLost
        case (.peer, _): .parseFailure
        }
    }
}
