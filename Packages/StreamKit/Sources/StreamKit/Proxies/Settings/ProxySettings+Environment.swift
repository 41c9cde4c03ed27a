internal import Glibc

extension ProxySettings {
    /// Reads the variables of this process's environment that programs on Linux go by.
    ///
    /// | variable | for |
    /// |---|---|
    /// | `http_proxy` | `http` URLs |
    /// | `https_proxy`, `HTTPS_PROXY` | `https` URLs |
    /// | `ftp_proxy`, `FTP_PROXY` | `ftp` URLs |
    /// | `all_proxy`, `ALL_PROXY` | every URL, after its scheme's own |
    /// | `no_proxy`, `NO_PROXY` | hosts to reach directly |
    ///
    /// Lower case wins; an empty variable is none. `HTTP_PROXY` is never read: a CGI program finds the `Proxy` field of
    /// whoever asks there (CVE-2016-5385). Call it at the program's start: another thread's `setenv` is a data race.
    ///
    /// - Throws: `EINVAL` for a variable that cannot be read, by its name, without its value.
    public static func environment() throws(StreamError) -> ProxySettings {
        try environment { name in getenv(name).map { String(cString: $0) } }
    }

    /// Reads the same from variables that are given: for tests, and for environments of other processes.
    public static func environment(_ variables: [String: String]) throws(StreamError) -> ProxySettings {
        try environment { variables[$0] }
    }

    private static func environment(_ value: (String) -> String?) throws(StreamError) -> ProxySettings {
        /// The variable's value, in lower case first.
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
