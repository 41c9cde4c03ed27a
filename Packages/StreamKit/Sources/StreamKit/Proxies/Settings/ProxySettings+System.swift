internal import Glibc

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
