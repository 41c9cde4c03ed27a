/// The form that NTLM and Negotiate share: the scheme's name, and a token in base64 (RFC 4559 section 4.1).
enum TokenField {
    /// The value of a field that carries `token`.
    static func value(_ scheme: String, _ token: [UInt8]) -> [UInt8] {
        Array("\(scheme) ".utf8) + Base64.encode(token)
    }

    /// The token of a challenge; nil if it carries none.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if it is not base64.
    static func token(of challenge: Challenge) throws(HTTPAuthError) -> [UInt8]? {
        guard let text = challenge.token else { return nil }
        guard let token = Base64.decode(text) else {
            throw HTTPAuthError(.malformedToken, scheme: challenge.scheme, detail: "not base 64")
        }
        return token
    }
}
