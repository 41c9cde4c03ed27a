/// The field syntax of NTLM and Negotiate: the scheme's name and a token in base 64 (RFC 4559 section 4.1).
enum TokenField {
    /// Returns the value of a field that carries `token`.
    static func value(_ scheme: String, _ token: [UInt8]) -> [UInt8] {
        Array("\(scheme) ".utf8) + Base64.encode(token)
    }

    /// Returns the token of a challenge; nil if it has none.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the token is not base 64.
    static func token(of challenge: Challenge) throws(HTTPAuthError) -> [UInt8]? {
        guard let text = challenge.token else { return nil }
        guard let token = Base64.decode(text) else {
            throw HTTPAuthError(.malformedToken, scheme: challenge.scheme, detail: "not base 64")
        }
        return token
    }
}
