internal import HTTPAuth
internal import HTTPMessage

extension HTTPRequest {
    /// The fields with which the caller logs in, if the login may belong to the whole connection: then only a request with
    /// the same fields, which is the same user's, may follow on it. Nil if there is no such login.
    ///
    /// NTLM and Negotiate do, and what calls itself like them (`Nego2`, `Negotiate-x`) is taken to: a scheme that is
    /// mistaken for one costs a connection, one that is missed gives a stranger the user's rights. The scheme alone would
    /// not do: two users of one program may both use NTLM.
    ///
    /// A login of several legs by hand has another field on each leg, and so needs a pool of its own:
    /// ``HTTPConnectionPool/init(limits:ofOneUser:)``.
    var connectionLogin: Secret? {
        if fields.isEmpty { return nil }
        var isBound = false
        var text = ""
        for name in [HTTPFieldName.authorization, .proxyAuthorization] {
            // Each of several: a server may take any of them.
            for value in fields.values(for: name) {
                let scheme = value.prefix { $0 != " " && $0 != "\t" }.lowercased()
                if ["ntlm", "nego", "kerberos"].contains(where: scheme.hasPrefix) { isBound = true }
                text += "\(name): \(value)\n"
            }
        }
        return isBound ? Secret(text) : nil
    }
}
