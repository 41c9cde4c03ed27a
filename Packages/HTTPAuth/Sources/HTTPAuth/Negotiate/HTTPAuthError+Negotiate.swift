/// The errors of Negotiate.
extension HTTPAuthError {
    static func spnego(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "Negotiate", detail: reason)
    }

    static func negotiate(_ code: Code, _ detail: String? = nil) -> HTTPAuthError {
        HTTPAuthError(code, scheme: "Negotiate", detail: detail)
    }
}
