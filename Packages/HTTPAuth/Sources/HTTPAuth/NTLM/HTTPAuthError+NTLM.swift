/// What goes wrong in NTLM.
extension HTTPAuthError {
    static func ntlmMessage(type: UInt32, _ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "NTLM", detail: "message of type \(type): \(reason)")
    }

    static func ntlmTargetInfo(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "NTLM", detail: "target information: \(reason)")
    }

    static func ntlmRefused(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.unsupportedChallenge, scheme: "NTLM", detail: reason)
    }

    static let ntlmUnavailable = HTTPAuthError(
        .unavailable, scheme: "NTLM", detail: "libcrypto gives no MD5; is the machine in FIPS mode?")
    static let ntlmOutOfOrder = HTTPAuthError(.outOfOrder, scheme: "NTLM")
    static let ntlmAnonymous = HTTPAuthError(.missingUserName, scheme: "NTLM")
    static let ntlmNameTooLong = HTTPAuthError(.invalidUserName, scheme: "NTLM", detail: "more than 1024 letters")
    static let ntlmPasswordTooLong = HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "more than 64 KiB")
    static let ntlmHashDigits = HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "the hash is not hexadecimal")

    static func ntlmHashSize(_ count: Int) -> HTTPAuthError {
        HTTPAuthError(.invalidPassword, scheme: "NTLM", detail: "the hash has \(count) bytes, not 16")
    }
}
