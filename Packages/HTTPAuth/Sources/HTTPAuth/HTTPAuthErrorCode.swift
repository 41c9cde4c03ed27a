internal import HTTPMessage

extension HTTPAuthError {
    /// What went wrong. Cases may be added in a minor release.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A 401 or 407 without a challenge.
        case noChallenge
        /// A challenge that is not written as RFC 9110 §11 says, or lacks what its scheme needs.
        case malformedChallenge
        /// A token of NTLM or Negotiate that breaks the rules of its scheme.
        case malformedToken
        /// A challenge with an algorithm or quality of protection that is not known.
        case unsupportedChallenge
        /// No scheme that was offered is known, allowed, and able to start.
        case noUsableScheme
        /// No user name was given to a scheme that needs one.
        case missingUserName
        /// No password was given to a scheme that needs one.
        case missingPassword
        /// The user name has a character that the scheme cannot carry.
        case invalidUserName
        /// The password has a character that the scheme cannot carry.
        case invalidPassword
        /// The server refused the credential.
        case credentialRefused
        /// No Kerberos ticket, and nothing to get one with.
        case ticketMissing
        /// The Kerberos ticket is no longer good.
        case ticketExpired
        /// The clocks of this machine and of the Kerberos server or the service differ too much.
        case clockSkew
        /// The Kerberos server knows no service by the name that was asked for.
        case serviceUnknown
        /// No Kerberos server answers, or none is known for the realm.
        case kerberosUnreachable
        /// The server does not accept a login in which no password was wrong: a ticket for another service, another channel,
        /// or its own policy.
        case exchangeRefused
        /// GSSAPI failed in a way that has no case of its own.
        case mechanismFailed
        /// The scheme is weaker than what the server or proxy has asked for before, and the user has not agreed to it.
        case weakerScheme
        /// Negotiate's policy does not allow this host; see ``NegotiateOptions/hosts``.
        case hostNotAllowed
        /// The credential belongs to another protection space.
        case wrongProtectionSpace
        /// The request does not lie in the protection space.
        case requestOutsideSpace
        /// The scheme signs the body, and the body is not known.
        case bodyUnknown
        /// The server did not prove that it knows the secret, though it should have.
        case serverNotAuthentic
        /// More rounds than ``AuthenticationLimits`` allow.
        case tooManyRounds
        /// A step that the conversation is not ready for.
        case outOfOrder
        /// A library or facility that the scheme needs is not there.
        case unavailable
        /// The scheme's work was not done within its time limit.
        case timedOut
        /// A store of credentials cannot be reached or read.
        case storeUnavailable
        /// A store of credentials is not written as it should be, or was changed by somebody else.
        case storeMalformed
        /// Others than the user may read or change a store of credentials.
        case storeNotPrivate
        /// A store of credentials cannot be written.
        case storeReadOnly
        /// A store of credentials is locked, or does not open with the pass-phrase or key given.
        case storeLocked
        /// The task that waited was cancelled.
        case cancelled
        /// No random bytes could be had.
        case noRandomness
    }
}

extension HTTPAuthError.Code {
    /// The catalogue of this package's sentences, in English.
    var sentence: String {
        switch self {
        case .noChallenge: "the response requires authentication but names no scheme"
        case .malformedChallenge: "the challenge is malformed"
        case .malformedToken: "the token is malformed"
        case .unsupportedChallenge: "the challenge uses an unsupported option"
        case .noUsableScheme: "no offered scheme can be used"
        case .missingUserName: "a user name is required"
        case .missingPassword: "a password is required"
        case .invalidUserName: "this scheme cannot use the user name"
        case .invalidPassword: "this scheme cannot use the password"
        case .credentialRefused: "the user name or password was rejected"
        case .ticketMissing: "no Kerberos ticket; get one with kinit"
        case .ticketExpired: "the Kerberos ticket has expired; get a new one with kinit"
        case .clockSkew: "this machine's clock differs too much from the Kerberos server's; correct it"
        case .serviceUnknown: "the Kerberos server does not know this service; check the host name in the URL"
        case .kerberosUnreachable: "no Kerberos server can be reached; check the network and krb5.conf"
        case .exchangeRefused: "the server rejected the login"
        case .mechanismFailed: "GSSAPI failed"
        case .weakerScheme: "the server asks for a weaker login than before; this may be an attack"
        case .hostNotAllowed: "the policy does not allow Kerberos tickets for this host"
        case .wrongProtectionSpace: "the credential belongs to another protection space"
        case .requestOutsideSpace: "the request is not for the server or proxy that sent the challenge"
        case .bodyUnknown: "the scheme must sign the request body, which is not known in advance"
        case .serverNotAuthentic: "the server did not prove its identity; do not trust its response"
        case .tooManyRounds: "the server asked for authentication too many times"
        case .outOfOrder: "the authentication steps are out of order"
        case .unavailable: "a required library or facility is unavailable"
        case .timedOut: "timed out"
        case .storeUnavailable: "the password store cannot be accessed"
        case .storeMalformed: "the password store is malformed or was modified"
        case .storeNotPrivate: "other users can read or change the password store; set its mode to 0600"
        case .storeReadOnly: "the password store is read-only"
        case .storeLocked: "the password store is locked"
        case .cancelled: "the task was cancelled"
        case .noRandomness: "no random bytes are available"
        }
    }

    /// CFNetwork's number for the cause.
    var number: HTTPErrorNumber? {
        switch self {
        case .noChallenge, .malformedChallenge, .malformedToken: .parseFailure
        case .unsupportedChallenge, .noUsableScheme, .unavailable, .weakerScheme, .hostNotAllowed:
            .authenticationTypeUnsupported
        case .missingUserName, .invalidUserName, .credentialRefused: .badUserName
        case .missingPassword, .invalidPassword: .badPassword
        case .wrongProtectionSpace, .requestOutsideSpace, .bodyUnknown, .serverNotAuthentic, .tooManyRounds,
            .outOfOrder, .timedOut, .cancelled, .storeUnavailable, .storeMalformed, .storeNotPrivate, .storeReadOnly,
            .storeLocked, .noRandomness, .ticketMissing, .ticketExpired, .clockSkew,
            .serviceUnknown,
            .kerberosUnreachable, .exchangeRefused, .mechanismFailed:
            nil
        }
    }
}

extension HTTPAuthError.Code {
    /// Whether the next scheme that the server offers may do where one failed with this before it sent anything.
    var allowsNextScheme: Bool {
        switch self {
        case .malformedChallenge, .malformedToken, .unsupportedChallenge, .unavailable, .bodyUnknown, .timedOut,
            .ticketMissing, .hostNotAllowed,
            .ticketExpired, .clockSkew, .serviceUnknown, .kerberosUnreachable, .mechanismFailed:
            true
        case .noChallenge, .noUsableScheme, .missingUserName, .missingPassword, .invalidUserName, .invalidPassword,
            .credentialRefused, .wrongProtectionSpace, .requestOutsideSpace, .serverNotAuthentic, .tooManyRounds,
            .outOfOrder, .cancelled, .storeUnavailable, .storeMalformed, .storeNotPrivate, .storeReadOnly, .storeLocked,
            .noRandomness, .exchangeRefused, .weakerScheme:
            false
        }
    }
}
