public import HTTPMessage

/// The reason why authentication failed. Switch on ``code``; print the error for the full message.
///
/// ```swift
/// do {
///     try authentication.apply(to: &request, user: "me:you", password: "secret")
/// } catch {
///     print(error)         // Basic: this scheme cannot use the user name (it contains a colon, …)
///     print(error.number)  // badUserName
/// }
/// ```
///
/// An error never contains a secret.
public struct HTTPAuthError: Error, Hashable, Sendable {
    /// The kind of failure.
    public var code: Code

    /// The name of the scheme that failed, as the server wrote it; nil if no scheme was chosen.
    public var scheme: String?

    /// The message of the layer below (GSSAPI, the file system), or the part of the challenge that caused the failure.
    public var detail: String?

    /// Creates an error. Use it in your own schemes and stores.
    public init(_ code: Code, scheme: String? = nil, detail: String? = nil) {
        self.code = code
        self.scheme = scheme
        self.detail = detail
    }

    /// The CFNetwork error number; nil if CFNetwork has none for this failure.
    ///
    /// Replaces the error that `CFHTTPAuthenticationIsValid` and `CFHTTPMessageApplyCredentials` fill in.
    public var number: HTTPErrorNumber? { code.number }

    /// Whether other credentials may help. If true, discard the object and the credential, ask the user again, and
    /// create an object from the new challenge. If false, give up.
    ///
    /// It is also true for ``Code/weakerScheme``: the user can agree to the weaker scheme, with an object created for
    /// it.
    public var asksForOtherCredentials: Bool {
        number == .badUserName || number == .badPassword || code == .weakerScheme
    }
}

extension HTTPAuthError: CustomStringConvertible {
    /// The message: the scheme, the failure and the detail.
    public var description: String {
        "\(scheme.map { "\($0): " } ?? "")\(code.sentence)\(detail.map { " (\($0))" } ?? "")"
    }
}
