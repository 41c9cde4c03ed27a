extension AuthenticationMethod {
    /// Basic (RFC 7617), with UTF-8. A server that rejects non-ASCII text and does not ask for UTF-8 receives it once more
    /// in ISO 8859-1.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeBasic`.
    public static let basic = AuthenticationMethod("Basic") { _ in BasicScheme() }

    /// Basic for old servers: ISO 8859-1, unless the challenge asks for UTF-8.
    public static let basicLatin1 = AuthenticationMethod("Basic") { _ in BasicScheme(prefersLatin1: true) }
}

/// Basic (RFC 7617): sends the user name and password in every request, in base 64, readable by anyone on the network
/// path.
///
/// ```swift
/// var policy = AuthenticationPolicy()
/// policy.encryptedOnly = [.basic]     // never without TLS
/// ```
///
/// Text is sent as UTF-8. A challenge can ask for it (`charset="UTF-8"`), and servers and browsers assume it otherwise.
/// RFC 7617 §2 leaves the encoding of other servers open. If such a server rejects text that has non-ASCII characters, the
/// text is sent once more in ISO 8859-1, provided that it has no other characters; the server counts this as a second
/// attempt. ``AuthenticationMethod/basicLatin1`` sends ISO 8859-1 at first.
struct BasicScheme: AuthenticationScheme {
    private(set) var realm: String?
    private let prefersLatin1: Bool
    private var isUTF8 = false
    /// The most recent value in UTF-8 that would be different in ISO 8859-1. If the server rejects it, the other encoding
    /// is tried.
    private var ambiguousValue: [UInt8]?
    private var hasFallenBack = false

    init(prefersLatin1: Bool = false) {
        self.prefersLatin1 = prefersLatin1
    }

    var traits: SchemeTraits { SchemeTraits() }

    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict {
        // RFC 7617 §2 requires a realm. Some servers omit it or its name, which only changes the text shown to the user.
        realm = challenge["realm"] ?? challenge.token
        isUTF8 = challenge["charset"]?.lowercased() == "utf-8"
        guard let sent else { return .fresh }
        // Several requests in progress can carry this value; each is sent again.
        if !isUTF8, sent == ambiguousValue {
            hasFallenBack = true
            return .fresh
        }
        return .refused
    }

    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        guard let credential else { throw HTTPAuthError(.missingUserName, scheme: "Basic") }
        guard let password = credential.password else { throw HTTPAuthError(.missingPassword, scheme: "Basic") }
        if prefersLatin1, !isUTF8 { return .send(try field(credential.user, password, isLatin1: true)) }
        let value = try field(credential.user, password, isLatin1: false)
        if isUTF8 { return .send(value) }
        // The other encoding of ASCII is the same, and other text than that of ISO 8859-1 has none.
        guard let other = try? field(credential.user, password, isLatin1: true), other != value else {
            return .send(value)
        }
        if hasFallenBack, value == ambiguousValue { return .send(other) }
        (ambiguousValue, hasFallenBack) = (value, false)
        return .send(value)
    }

    /// Returns the field value: `Basic` and the base 64 of the user name, a colon and the password (RFC 7617 §2).
    private func field(_ user: String, _ password: Secret, isLatin1: Bool) throws(HTTPAuthError) -> [UInt8] {
        var bytes = try encoded(Array(user.utf8), isLatin1, or: .invalidUserName)
        if bytes.contains(UInt8(ascii: ":")) {
            throw HTTPAuthError(
                .invalidUserName, scheme: "Basic", detail: "it contains a colon, the separator before the password")
        }
        bytes.append(UInt8(ascii: ":"))
        bytes += try encoded(password.withBytes { Array($0) }, isLatin1, or: .invalidPassword)
        return Array("Basic ".utf8) + Base64.encode(bytes)
    }

    private func encoded(
        _ text: [UInt8], _ isLatin1: Bool, or code: HTTPAuthError.Code
    ) throws(HTTPAuthError) -> [UInt8] {
        // RFC 7617 §2 forbids control characters.
        guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw HTTPAuthError(code, scheme: "Basic", detail: "it contains a control character")
        }
        if !isLatin1 { return text }
        var result: [UInt8] = []
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else {
                throw HTTPAuthError(code, scheme: "Basic", detail: "it has characters outside ISO 8859-1")
            }
            result.append(byte)
        }
        return result
    }
}
