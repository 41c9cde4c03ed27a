@_spi(Packages) internal import EventLoops
public import FoundationEssentials
internal import Glibc

/// The proxies to use, by scheme and host: from the environment, from a file, or set by the program.
///
/// ```swift
/// let settings = try ProxySettings.environment()
/// for choice in settings.choices(for: url) { print(choice) }      // http://proxy.example:3128
///
/// var own = ProxySettings()
/// own.https = [try ProxyServer("http://a.example:3128"), try ProxyServer("http://b.example:3128")]
/// own.bypass = ProxyBypassList(exceptions: ["*.intranet.example"])
/// ```
///
/// Settings have no effect by themselves: they return choices, and the program sets ``StreamProperty/proxies`` of its
/// streams. In a list of several proxies, the next one is tried when one cannot be reached. Replaces the dictionaries
/// of `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`.
public struct ProxySettings: Sendable, Hashable {
    /// The proxies for `http` URLs (`kCFNetworkProxiesHTTPProxy`, `…HTTPPort`, `…HTTPEnable`).
    public var http: [ProxyServer] = []

    /// The proxies for `https` URLs (`kCFNetworkProxiesHTTPSProxy`, …).
    public var https: [ProxyServer] = []

    /// The proxies for `ftp` and `ftps` URLs (`kCFNetworkProxiesFTPProxy`, …).
    public var ftp: [ProxyServer] = []

    /// The proxies for every URL, tried after those of its scheme (`kCFNetworkProxiesSOCKSProxy`, …). Not only SOCKS.
    public var others: [ProxyServer] = []

    /// A script that decides alone: while it is set, the proxies above are not used
    /// (`kCFNetworkProxiesProxyAutoConfigURLString`, `kCFNetworkProxiesProxyAutoConfigJavaScript`).
    public var script: ProxyScriptSource?

    /// The TLS configuration for the server of the ``script`` and for proxies of kind ``ProxyServer/Kind/https``, above
    /// all the roots to trust.
    ///
    /// A stream's ``StreamProperty/tls`` applies to the target, and to neither of these. Default: the system's roots,
    /// and no client certificate.
    public var tls = TLSConfiguration()

    /// The hosts to reach without a proxy (`kCFNetworkProxiesExceptionsList`).
    public var bypass = ProxyBypassList.none

    /// Whether names without a dot are reached without a proxy. Default false. Replaces
    /// `kCFNetworkProxiesExcludeSimpleHostnames`.
    public var bypassesSimpleNames = false

    /// Whether `localhost`, names below it, 127.0.0.0/8 and ::1 are reached without a proxy. Default true.
    ///
    /// To a proxy, these names mean the proxy's own machine. curl sends them to the proxy unless `no_proxy` contains
    /// them.
    public var bypassesLoopback = true

    /// Whether FTP uses passive mode, if the settings define it (`kCFNetworkProxiesFTPPassive`).
    public var usesPassiveFTP: Bool?

    /// Makes settings without proxies.
    public init() {}

    /// Whether there is neither a proxy nor a script.
    public var isEmpty: Bool { http.isEmpty && https.isEmpty && ftp.isEmpty && others.isEmpty && script == nil }

    /// Returns the choices for a URL, in the order in which to try them; never empty.
    ///
    /// Exempt hosts are reached directly. Otherwise a script decides alone. Without a script, the proxies for the URL's
    /// scheme come first, then those for every URL. The choice is direct only if there are no proxies at all, so that
    /// no request bypasses a proxy that is down. Replaces `CFNetworkCopyProxiesForURL`.
    public func choices(for url: URL) -> [ProxyChoice] {
        choices(
            scheme: url.scheme?.lowercased() ?? "", host: url.host(percentEncoded: false) ?? "",
            port: url.port.flatMap { UInt16(exactly: $0) })
    }

    /// Returns the choices for a connection without a URL, as ``choices(for:)`` does.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the protocol, in lower case. Any other than `http`, `https`, `ftp` and `ftps` has only
    ///     the proxies for every URL.
    ///   - host: a name or an address.
    ///   - port: nil for the default port of the scheme.
    public func choices(scheme: String, host: String, port: UInt16?) -> [ProxyChoice] {
        let target = ProxyBypassList.Host(host)
        let port = port ?? ["http": 80, "https": 443, "ftp": 21, "ftps": 990][scheme]
        let isExempt =
            host.isEmpty || (bypassesLoopback && target.isLoopback) || (bypassesSimpleNames && target.isSimpleName)
            || bypass.covers(host: host, port: port)
        if isExempt { return [.direct] }
        if let script { return [.script(script)] }
        let own: [ProxyServer] =
            switch scheme {
            case "http": http
            case "https": https
            case "ftp", "ftps": ftp
            default: []
            }
        let servers = own + others.filter { !own.contains($0) }
        return servers.isEmpty ? [.direct] : servers.map { .server($0) }
    }
}

/// One way to reach a URL, from ``ProxySettings/choices(for:)``. Replaces the values of `kCFProxyTypeKey`.
public enum ProxyChoice: Sendable, Hashable {
    /// Without a proxy (`kCFProxyTypeNone`).
    case direct
    /// Through this proxy (`kCFProxyTypeHTTP`, `kCFProxyTypeHTTPS`, `kCFProxyTypeFTP`, `kCFProxyTypeSOCKS`).
    case server(ProxyServer)
    /// As decided by a script (`kCFProxyTypeAutoConfigurationURL`, `kCFProxyTypeAutoConfigurationJavaScript`).
    case script(ProxyScriptSource)
}

/// The source of a proxy auto-configuration (PAC) script.
public enum ProxyScriptSource: Sendable, Hashable {
    /// The script at a URL: `kCFProxyAutoConfigurationURLKey`.
    case url(String)
    /// The text of the script: `kCFProxyAutoConfigurationJavaScriptKey`.
    case text(String)
}

extension ProxyChoice: CustomStringConvertible {
    /// `direct`, `http://proxy.example:3128`, or the source of the script.
    public var description: String {
        switch self {
        case .direct: "direct"
        case .server(let server): server.description
        case .script(.url(let url)): "script at \(url)"
        case .script(.text): "script"
        }
    }
}

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
                throw StreamError(
                    posix: EINVAL, .proxyVariable(name, error.description), reason: .invalidProxySettings,
                    underlying: error)
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

extension ProxySettings {
    /// The largest settings file, in bytes.
    package static let maximumFileSize = 64 * 1024

    /// Parses the text of a settings file: lines of `name = value`.
    ///
    /// ```
    /// # for all users of this network
    /// http_proxy  = http://proxy.example:3128
    /// https_proxy = "http://proxy.example:3128, http://spare.example:3128"
    /// all_proxy   = socks5h://localhost:9050
    /// no_proxy    = .example.org, 10/8
    /// exclude_simple_hostnames = yes
    /// ```
    ///
    /// The names are those of ``environment()``, in either case. `export` may precede them, so that a shell script or
    /// `/etc/environment` can be read. In addition: several proxies separated by commas, to be tried in turn;
    /// `exceptions`, a list in the notation of Apple's settings; `exclude_simple_hostnames`, `bypass_loopback` and
    /// `ftp_passive`, which are `yes` or `no`; `auto_config_url`, the URL of a script. Other names are ignored.
    ///
    /// - Throws: `EINVAL` for an invalid line, with its number and without its value.
    public init(fileText: String) throws(StreamError) {
        self.init()
        let lines = fileText.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(StreamError) {
                try read(Substring(line))
            } catch {
                throw StreamError(
                    posix: EINVAL, .settingsLine(index + 1, error.description), reason: .invalidProxySettings,
                    underlying: error)
            }
        }
    }

    /// Reads the settings in a file; nil if there is no such file.
    ///
    /// - Throws: the errors of ``init(fileText:)``; an `errno` if the file cannot be read; `EFBIG` if it is larger than
    ///   64 KiB.
    public static func file(_ path: String) throws(StreamError) -> ProxySettings? {
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            bytes = try SystemCall.contents(of: path, limit: maximumFileSize + 1)
        } catch {
            if error.number == ENOENT || error.number == ENOTDIR { return nil }
            throw StreamError.fileNotOpened(path, error.number)
        }
        if bytes.count > maximumFileSize { throw StreamError.fileNotOpened(path, EFBIG) }
        return try ProxySettings(fileText: String(decoding: bytes, as: UTF8.self))
    }

    private mutating func read(_ line: Substring) throws(StreamError) {
        var line = ProxySettings.trimmed(line)
        if line.isEmpty || line.unicodeScalars.first == "#" { return }
        if line.hasPrefix("export ") { line = ProxySettings.trimmed(line.dropFirst(7)) }
        guard let equals = line.unicodeScalars.firstIndex(of: "=") else {
            throw StreamError(posix: EINVAL, .settingsUnreadable("it contains no “=”"))
        }
        let name = ProxySettings.trimmed(line[..<equals]).lowercased()
        var value = ProxySettings.trimmed(Substring(line.unicodeScalars[equals...].dropFirst()))
        if let quote = value.unicodeScalars.first, quote == "\"" || quote == "'" {
            guard value.unicodeScalars.count >= 2, value.unicodeScalars.last == quote else {
                throw StreamError(posix: EINVAL, .settingsUnreadable("a quotation mark is not closed"))
            }
            value = Substring(value.unicodeScalars.dropFirst().dropLast())
        }
        switch name {
        case "http_proxy": http = try ProxySettings.servers(value)
        case "https_proxy": https = try ProxySettings.servers(value)
        case "ftp_proxy": ftp = try ProxySettings.servers(value)
        case "all_proxy": others = try ProxySettings.servers(value)
        case "no_proxy": bypass = ProxyBypassList(noProxy: String(value))
        case "exceptions":
            bypass = ProxyBypassList(exceptions: value.unicodeScalars.split(separator: ",").map { String($0) })
        case "exclude_simple_hostnames": bypassesSimpleNames = try ProxySettings.flag(value)
        case "bypass_loopback": bypassesLoopback = try ProxySettings.flag(value)
        case "ftp_passive": usesPassiveFTP = try ProxySettings.flag(value)
        case "auto_config_url": script = value.isEmpty ? nil : .url(String(value))
        default: break
        }
    }

    private static func servers(_ list: Substring) throws(StreamError) -> [ProxyServer] {
        var servers: [ProxyServer] = []
        for element in list.unicodeScalars.split(separator: ",") {
            servers.append(try ProxyServer(String(trimmed(Substring(element)))))
        }
        return servers
    }

    private static func flag(_ value: Substring) throws(StreamError) -> Bool {
        switch value.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: throw StreamError(posix: EINVAL, .settingsUnreadable("the value must be yes or no"))
        }
    }

    /// The text without blanks at its ends, by scalars: a combining mark does not keep a blank.
    static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" || scalar == "\r" }
        let front = text.unicodeScalars.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return "" }
        return Substring(front[...last])
    }
}

extension ProxySettings {
    /// The settings file for all users of this machine.
    public static let machineFile = "/etc/netkit/proxies"

    /// Returns the proxy settings of this machine and its user; nil if there are none.
    ///
    /// The first of these sources that applies is used, as a whole:
    ///
    /// 1. the variables of the process's environment, if they name a proxy (``environment()``),
    /// 2. the user's file, `$XDG_CONFIG_HOME/netkit/proxies`, or `~/.config/netkit/proxies` without that variable,
    /// 3. the machine's file, ``machineFile``.
    ///
    /// ``init(fileText:)`` describes the format of the files. A file takes effect even if it names no proxy, so that a
    /// user can turn the machine's proxy off. `no_proxy` of the environment, if it is set, replaces the exceptions of a
    /// file. Desktop settings are not read: GNOME and KDE themselves set the environment of the programs they start.
    /// Watch the files of ``systemFiles()`` with ``ProxySettingsMonitor``. Like ``environment()``, call this at the
    /// start of the program.
    ///
    /// Replaces `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`.
    ///
    /// - Throws: the errors of ``environment()`` and ``file(_:)``. An invalid setting is an error, and never skipped in
    ///   favour of the next source.
    public static func system() throws(StreamError) -> ProxySettings? {
        try system(environment(), hasBypass: isSet("no_proxy") || isSet("NO_PROXY"), files: systemFiles())
    }

    /// The files that ``system()`` reads, in order, whether or not they exist.
    public static func systemFiles() -> [String] {
        systemFiles { name in getenv(name).map { String(cString: $0) } }
    }

    static func systemFiles(_ variable: (String) -> String?) -> [String] {
        // The XDG Base Directory Specification says to ignore a relative XDG_CONFIG_HOME.
        let own = variable("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = variable("HOME").flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
        return ((own ?? home).map { ["\($0)/netkit/proxies"] } ?? []) + [machineFile]
    }

    static func system(
        _ environment: ProxySettings, hasBypass: Bool, files: [String]
    ) throws(StreamError) -> ProxySettings? {
        if !environment.isEmpty { return environment }
        for path in files {
            guard var settings = try file(path) else { continue }
            if hasBypass { settings.bypass = environment.bypass }
            return settings
        }
        return nil
    }

    private static func isSet(_ name: String) -> Bool {
        getenv(name).map { $0.pointee != 0 } ?? false
    }
}
