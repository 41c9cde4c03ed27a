public import EventLoops
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

extension HTTPAuthError {
    /// Creates an error for a wait for work on another thread that ended without its outcome.
    init(wait error: WaitError) {
        switch error {
        case .cancelled: self.init(.cancelled)
        case .timedOut: self.init(.timedOut)
        case .failed: self.init(.unavailable, detail: "no thread can be created")
        default: self.init(.unavailable, detail: "\(error)")
        }
    }
}

extension HTTPAuthError: CustomStringConvertible {
    /// The text of ``sentence``: the scheme, the failure and the detail.
    public var description: String { sentence.description }

    /// The message, which a program can translate: its key is `auth.` and the code, such as `auth.credentialRefused`; its
    /// arguments are ``scheme`` and ``detail``.
    public var sentence: Sentence {
        Sentence("auth.\(code.rawValue)", "[%1: ]\(code.text)[ (%2)]", scheme, detail)
    }
}

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
        case loginRefused
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
        /// There is no such credential store, such as a password service where there is no session bus. It does not appear by waiting.
        case storeMissing
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
        /// A credential store has an entry for this user and space already.
        case alreadyStored
        /// The waiting task was cancelled.
        case cancelled
        /// The system's random source failed.
        case noRandomness
    }
}

extension HTTPAuthError.Code {
    /// The failure in English, without scheme and detail.
    var text: String {
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
        case .loginRefused: "the server rejected the login"
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
        case .storeMissing: "there is no such password store"
        case .storeUnavailable: "the password store cannot be accessed"
        case .storeMalformed: "the password store is malformed or was modified"
        case .storeNotPrivate: "other users can read or change the password store; set its mode to 0600"
        case .storeReadOnly: "the password store is read-only"
        case .storeLocked: "the password store is locked"
        case .alreadyStored: "the password store has an entry for this user already"
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
            .outOfOrder, .timedOut, .cancelled, .storeMissing, .storeUnavailable, .storeMalformed, .storeNotPrivate,
            .storeReadOnly, .storeLocked, .alreadyStored, .noRandomness, .ticketMissing, .ticketExpired, .clockSkew,
            .serviceUnknown, .kerberosUnreachable, .loginRefused, .mechanismFailed:
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
            .outOfOrder, .cancelled, .storeMissing, .storeUnavailable, .storeMalformed, .storeNotPrivate,
            .storeReadOnly, .storeLocked, .alreadyStored, .noRandomness, .loginRefused, .weakerScheme:
            false
        }
    }
}

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

/// The errors of Negotiate.
extension HTTPAuthError {
    static func spnego(_ reason: String) -> HTTPAuthError {
        HTTPAuthError(.malformedToken, scheme: "Negotiate", detail: reason)
    }

    static func negotiate(_ code: Code, _ detail: String? = nil) -> HTTPAuthError {
        HTTPAuthError(code, scheme: "Negotiate", detail: detail)
    }
}
