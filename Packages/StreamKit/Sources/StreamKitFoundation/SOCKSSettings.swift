internal import Foundation
internal import StreamKit

/// The dictionary that describes a SOCKS proxy to Foundation's streams, with Foundation's keys or those of system
/// settings.
enum SOCKSSettings {
    private static let hosts = [StreamSOCKSProxyConfiguration.hostKey.rawValue, "SOCKSProxy"]
    private static let ports = [StreamSOCKSProxyConfiguration.portKey.rawValue, "SOCKSPort"]

    static func set(_ value: AnyObject?, on stream: BridgedConnection) -> Bool {
        guard stream.honours(.socksProxy) else { return false }
        guard let value else { return stream.set(.socksProxy, to: nil) }
        if let proxy = value as? SOCKSProxy { return stream.set(.socksProxy, to: proxy) }
        guard let settings = value as? [AnyHashable: Any] else { return false }
        var named: [String: Any] = [:]
        for (key, setting) in settings {
            guard let name = (key.base as? StreamSOCKSProxyConfiguration)?.rawValue ?? key.base as? String else {
                return false
            }
            named[name] = setting
        }
        // Turned off, or not for this host: no proxy, even if one was set before.
        if let isOn = named["SOCKSEnable"] as? NSNumber, !isOn.boolValue { return stream.set(.socksProxy, to: nil) }
        if isExempt(stream.value(.remoteHostName), named) { return stream.set(.socksProxy, to: nil) }
        guard let proxy = proxy(named) else { return false }
        return stream.set(.socksProxy, to: proxy)
    }

    private static func isExempt(_ host: String?, _ settings: [String: Any]) -> Bool {
        guard let host else { return false }
        let isLocal = (settings["ExcludeSimpleHostnames"] as? NSNumber)?.boolValue ?? false
        let exceptions = settings["ExceptionsList"] as? [String] ?? []
        return ProxyBypassList(exceptions: exceptions + (isLocal ? ["<local>"] : [])).covers(host: host)
    }

    private static func proxy(_ settings: [String: Any]) -> SOCKSProxy? {
        guard let host = hosts.lazy.compactMap({ settings[$0] as? String }).first, !host.isEmpty else { return nil }
        var proxy = SOCKSProxy(host: host)
        if let port = ports.lazy.compactMap({ settings[$0] as? NSNumber }).first {
            guard let port = UInt16(exactly: port.intValue), port > 0 else { return nil }
            proxy.port = port
        }
        if let version = settings[StreamSOCKSProxyConfiguration.versionKey.rawValue] {
            switch (version as? StreamSOCKSProxyVersion)?.rawValue ?? version as? String {
            case StreamSOCKSProxyVersion.version4.rawValue:
                proxy = SOCKSProxy(host: host, port: proxy.port, version: .v4)
            case StreamSOCKSProxyVersion.version5.rawValue: break
            default: return nil
            }
        }
        proxy.user = settings[StreamSOCKSProxyConfiguration.userKey.rawValue] as? String
        proxy.password = settings[StreamSOCKSProxyConfiguration.passwordKey.rawValue] as? String
        let limit = proxy.version == .v4 ? SOCKSProxy.longestUserID : SOCKSProxy.longestField
        let isCarried =
            (proxy.user?.utf8.count ?? 0) <= limit && (proxy.password?.utf8.count ?? 0) <= SOCKSProxy.longestField
        return isCarried ? proxy : nil
    }

    /// The proxy that was set, without the password.
    static func dictionary(of proxy: SOCKSProxy) -> NSDictionary {
        let version: StreamSOCKSProxyVersion = proxy.version == .v4 ? .version4 : .version5
        var settings: [String: Any] = [
            StreamSOCKSProxyConfiguration.hostKey.rawValue: proxy.host,
            StreamSOCKSProxyConfiguration.portKey.rawValue: Int(proxy.port),
            StreamSOCKSProxyConfiguration.versionKey.rawValue: version.rawValue,
        ]
        settings[StreamSOCKSProxyConfiguration.userKey.rawValue] = proxy.user
        return NSDictionary(dictionary: settings)
    }
}
