public import HTTPMessage

/// Why authentication did not go on. Switch on ``code``; print the error for the whole story.
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
/// No secret is ever part of an error.
public struct HTTPAuthError: Error, Hashable, Sendable {
    /// What went wrong.
    public var code: Code

    /// The scheme in which it went wrong, as the server wrote it; nil where none was chosen yet.
    public var scheme: String?

    /// The words of the layer below (GSSAPI, the file system), or the part of the challenge that is to blame.
    public var detail: String?

    /// Makes an error, for schemes and stores that are not of this package.
    public init(_ code: Code, scheme: String? = nil, detail: String? = nil) {
        self.code = code
        self.scheme = scheme
        self.detail = detail
    }

    /// The number CFNetwork gives to this cause; nil for a cause it does not know.
    ///
    /// Replaces the error that `CFHTTPAuthenticationIsValid` and `CFHTTPMessageApplyCredentials` fill in.
    public var number: HTTPErrorNumber? { code.number }

    /// Whether another user name or password may help: the guide's advice is to throw object and credential away, ask
    /// again, and start over with the new challenge. False means: give up.
    ///
    /// Also true of ``Code/weakerScheme``: the user may agree to the weaker scheme, with an object made for it.
    public var asksForOtherCredentials: Bool {
        number == .badUserName || number == .badPassword || code == .weakerScheme
    }
}

extension HTTPAuthError: CustomStringConvertible {
    /// One sentence: the scheme, what, and the words of the layer below.
    public var description: String {
        "\(scheme.map { "\($0): " } ?? "")\(code.sentence)\(detail.map { " (\($0))" } ?? "")"
    }
}
