internal import Glibc

extension ProxySettings {
    /// The settings file for everybody on this machine.
    public static let machineFile = "/etc/netkit/proxies"

    /// The settings that this machine and its user have made; nil if they made none.
    ///
    /// The first of these that says something counts, as a whole:
    ///
    /// 1. the variables of the process's environment, if they name a proxy (``environment()``),
    /// 2. the user's file, `$XDG_CONFIG_HOME/netkit/proxies`, or `~/.config/netkit/proxies` without that variable,
    /// 3. the machine's file, ``machineFile``.
    ///
    /// ``init(fileText:)`` says how files are written; one that is there counts even if it names no proxy, so that a user can have
    /// none where the machine has one. `no_proxy` of the environment, if it is set, holds for the files, too, in place of their
    /// own. Settings of desktops are not read: GNOME's and KDE's own programs set the environment for what they start. Watch
    /// the files of ``systemFiles()`` with ``ProxySettingsMonitor``. Call it as ``environment()``, at the program's start.
    ///
    /// Replaces `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`.
    ///
    /// - Throws: as ``environment()`` and ``file(_:)``. A broken setting is told, and never passed over for the next.
    public static func system() throws(StreamError) -> ProxySettings? {
        try system(environment(), hasBypass: isSet("no_proxy") || isSet("NO_PROXY"), files: systemFiles())
    }

    /// The files that ``system()`` looks at, in that order, whether they are there or not.
    public static func systemFiles() -> [String] {
        systemFiles { name in getenv(name).map { String(cString: $0) } }
    }

    static func systemFiles(_ variable: (String) -> String?) -> [String] {
        // A relative XDG_CONFIG_HOME is to be ignored (XDG Base Directory Specification).
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
