internal import Glibc

extension ProxySettings {
    /// Reads the proxy variables of this process's environment that are customary on Linux.
    ///
    /// | variable | used for |
    /// |---|---|
    /// | `http_proxy` | `http` URLs |
    /// | `https_proxy`, `HTTPS_PROXY` | `https` URLs |
    /// | `ftp_proxy`, `FTP_PROXY` | `ftp` URLs |
    /// | `all_proxy`, `ALL_PROXY` | every URL, after the proxies of its scheme |
    /// | `no_proxy`, `NO_PROXY` | hosts to reach directly |
    ///
    /// Lower case takes precedence; an empty variable counts as unset. `HTTP_PROXY` is never read: in a CGI program, it
    /// contains the `Proxy` field of the client's request (CVE-2016-5385). Call this at the start of the program,
    /// because another thread's `setenv` is a data race.
    ///
    /// - Throws: `EINVAL` for an invalid variable, with its name and without its value.
    public static func environment() throws(StreamError) -> ProxySettings {
        try environment { name in getenv(name).map { String(cString: $0) } }
    }

    /// Reads the same from the given variables: for tests, and for the environments of other processes.
    public static func environment(_ variables: [String: String]) throws(StreamError) -> ProxySettings {
        try environment { variables[$0] }
    }

    private static func environment(_ value: (String) -> String?) throws(StreamError) -> ProxySettings {
        /// The variable's name and value; the name in lower case takes precedence.
        func find(_ name: String, orUpper: Bool = true) -> (String, String)? {
            for name in orUpper ? [name, name.uppercased()] : [name] {
                if let text = value(name), !text.isEmpty { return (name, text) }
            }
            return nil
        }
        func servers(_ found: (String, String)?) throws(StreamError) -> [ProxyServer] {
            guard let (name, text) = found else { return [] }
            do throws(StreamError) {
                return [try ProxyServer(text)]
            } catch {
                throw StreamError(posix: EINVAL, .proxyVariable(name, error.description), underlying: error)
            }
        }
        var settings = ProxySettings()
        settings.http = try servers(find("http_proxy", orUpper: false))
        settings.https = try servers(find("https_proxy"))
        settings.ftp = try servers(find("ftp_proxy"))
        settings.others = try servers(find("all_proxy"))
        if let (_, text) = find("no_proxy") { settings.bypass = ProxyBypassList(noProxy: text) }
        return settings
    }
}
