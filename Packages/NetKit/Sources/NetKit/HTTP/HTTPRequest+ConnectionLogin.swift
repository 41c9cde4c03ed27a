internal import HTTPMessage

extension HTTPRequest {
    /// The scheme with which the caller's own fields log in, if it may authenticate the whole connection: then nobody else's
    /// request may follow on it.
    ///
    /// NTLM and Negotiate do, and what calls itself like them (`Nego2`, `Negotiate-x`) is taken to: a scheme that is
    /// mistaken for one costs a connection, one that is missed gives a stranger the user's rights.
    var connectionLogin: String? {
        if fields.isEmpty { return nil }
        for name in [HTTPFieldName.authorization, .proxyAuthorization] {
            // Each of several: a server may take any of them.
            for value in fields.values(for: name) {
                let scheme = value.prefix { $0 != " " && $0 != "\t" }.lowercased()
                if ["ntlm", "nego", "kerberos"].contains(where: scheme.hasPrefix) { return scheme }
            }
        }
        return nil
    }
}
