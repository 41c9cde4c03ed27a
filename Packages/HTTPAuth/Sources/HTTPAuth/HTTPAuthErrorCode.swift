internal import HTTPMessage

extension HTTPAuthError {
    /// The kind of failure. A minor release may add cases.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A 401 or 407 response has no challenge.
        case noChallenge
        /// A challenge violates RFC 9110 §11 or lacks a parameter that its scheme requires.
        case malformedChallenge
        /// An NTLM or Negotiate token violates the rules of its scheme.
        case malformedToken
        /// A challenge uses an unsupported algorithm, quality of protection or protocol feature.
        case unsupportedChallenge
        /// None of the offered schemes is known, allowed and able to start.
        case noUsableScheme
        /// The scheme requires a user name, and none was given.
        case missingUserName
        /// The scheme requires a password, and none was given.
        case missingPassword
        /// The user name is too long for the scheme or has a character that it cannot send.
        case invalidUserName
        /// The password is too long for the scheme, has a character that it cannot send, or is not a valid NT hash.
        case invalidPassword
        /// The server or the Kerberos server rejected the credential.
        case credentialRefused
        /// There is no Kerberos ticket and no way to get one.
        case ticketMissing
        /// The Kerberos ticket has expired or is not valid yet.
        case ticketExpired
        /// The clock of this machine differs too much from that of the Kerberos server or the service.
        case clockSkew
        /// The Kerberos server does not know the requested service.
        case serviceUnknown
        /// No Kerberos server responds, or none is known for the realm.
        case kerberosUnreachable
        /// The server rejected a login without a wrong password: the ticket was for another service or channel, or the
        /// server's policy forbids the login.
        case exchangeRefused
        /// GSSAPI failed for a reason without a case of its own.
        case mechanismFailed
        /// The scheme is weaker than an earlier login or offer of the server or proxy, and the user has not agreed to
        /// it.
        case weakerScheme
        /// The Negotiate options do not allow this host; see ``NegotiateOptions/hosts``.
        case hostNotAllowed
        /// The credential belongs to another protection space.
        case wrongProtectionSpace
        /// The request is outside the protection space.
        case requestOutsideSpace
        /// The scheme must sign the body, and the body is unknown.
        case bodyUnknown
        /// The server did not prove that it knows the secret, or its proof is wrong.
        case serverNotAuthentic
        /// The server sent more challenges than ``AuthenticationLimits/roundCount`` allows.
        case tooManyRounds
        /// The step is not valid in the current state of the conversation.
        case outOfOrder
        /// A required library or system facility is unavailable.
        case unavailable
        /// The time limit passed.
        case timedOut
        /// A credential store cannot be reached, read or written.
        case storeUnavailable
        /// A credential store is malformed, or was modified by another party.
        case storeMalformed
        /// Other users can read or change a credential store.
        case storeNotPrivate
        /// A credential store cannot be written.
        case storeReadOnly
        /// A credential store is locked, or the pass-phrase or key is wrong.
        case storeLocked
        /// The waiting task was cancelled.
        case cancelled
        /// The system's random source failed.
        case noRandomness
    }
}

extension HTTPAuthError.Code {
    /// The message of the failure, in English.
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

    /// The CFNetwork error number.
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
    /// Whether the next offered scheme may be tried after a scheme failed with this code before it sent anything.
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
