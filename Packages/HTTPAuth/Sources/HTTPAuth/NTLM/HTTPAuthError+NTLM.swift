/// The errors of NTLM.
extension HTTPAuthError {
    static func ntlmMessage(type: UInt32, _ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "NTLM", detail: "type \(type) message: \(reason)")
    }

    static func ntlmTargetInfo(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "NTLM", detail: "target information: \(reason)")
    }

    static func ntlmUnsupported(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.unsupportedChallenge, scheme: "NTLM", detail: reason)
    }

    static let ntlmUnavailable = HTTPAuthError(
        .unavailable, scheme: "NTLM", detail: "libcrypto does not provide MD5; FIPS mode may be on")
    static let ntlmOutOfOrder = HTTPAuthError(.outOfOrder, scheme: "NTLM")
    static let ntlmAnonymous = HTTPAuthError(.missingUserName, scheme: "NTLM")
    static let ntlmNameTooLong = HTTPAuthError(
        .invalidUserName, scheme: "NTLM", detail: "it has more than 1024 characters")
    static let ntlmPasswordTooLong = HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "it has more than 64 KiB")
    static let ntlmHashDigits = HTTPAuthError(
        .invalidPassword, scheme: "NTLM", detail: "the NT hash is not hexadecimal")

    static func ntlmHashSize(_ count: Int) -> HTTPAuthError {
        HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "the NT hash has \(count) bytes, not 16")
    }
}
