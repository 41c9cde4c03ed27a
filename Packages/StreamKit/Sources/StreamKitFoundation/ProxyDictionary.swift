internal import Foundation
public import StreamKit

extension ProxySettings {
    /// Reads a dictionary of proxy settings with the keys of Apple's systems, such as `HTTPProxy` and `HTTPPort`.
    ///
    /// ```swift
    /// let settings = try ProxySettings(dictionary: ["HTTPProxy": "proxy.example", "HTTPPort": 3128, "ExceptionsList": ["*.local"]])
    /// ```
    ///
    /// A proxy is used if its host is present and its `…Enable` is absent or not 0; likewise a script. A missing port is 80, or
    /// 1080 for SOCKS: a proxy for `ftp` URLs is an HTTP proxy that carries FTP in tunnels, as everywhere in ``ProxySettings``.
    /// The settings for RTSP, Gopher and automatic discovery are ignored, as are other keys. Replaces the dictionaries of
    /// `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`, whose values on Linux come from
    /// ``ProxySettings/system()``.
    ///
    /// - Throws: `EINVAL` for an invalid value of a key that is read, with the key and without the value.
    public init(dictionary: [String: Any]) throws(StreamError) {
        self.init()
        let values = ProxyDictionary(values: dictionary)
        http = try values.servers("HTTP", .http)
        https = try values.servers("HTTPS", .http)
        ftp = try values.servers("FTP", .http)
        others = try values.servers("SOCKS", .socks5h)
        if let exceptions = try values.value("ExceptionsList", as: [String].self) {
            bypass = ProxyBypassList(exceptions: exceptions)
        }
        bypassesSimpleNames = try values.flag("ExcludeSimpleHostnames") ?? false
        usesPassiveFTP = try values.flag("FTPPassive")
        guard try values.flag("ProxyAutoConfigEnable") ?? true else { return }
        if let text = try values.value("ProxyAutoConfigJavaScript", as: String.self) {
            script = .text(text)
        } else if let url = try values.value("ProxyAutoConfigURLString", as: String.self) {
            script = .url(url)
        }
    }
}

/// Typed access to the values of a dictionary of settings.
private struct ProxyDictionary {
    let values: [String: Any]

    /// The value of a key; nil if it is absent.
    func value<Value>(_ key: String, as type: Value.Type) throws(StreamError) -> Value? {
        guard let value = values[key] else { return nil }
        guard let typed = value as? Value else { throw .proxySetting(key) }
        return typed
    }

    func flag(_ key: String) throws(StreamError) -> Bool? { try value(key, as: NSNumber.self)?.boolValue }

    /// The proxy of the keys `nameEnable`, `nameProxy` and `namePort`.
    func servers(_ name: String, _ kind: ProxyServer.Kind) throws(StreamError) -> [ProxyServer] {
        guard try flag("\(name)Enable") ?? true, let host = try value("\(name)Proxy", as: String.self) else {
            return []
        }
        if host.isEmpty { throw .proxySetting("\(name)Proxy") }
        let key = "\(name)Port"
        guard let number = try value(key, as: NSNumber.self) else { return [ProxyServer(kind, host: host)] }
        guard let port = UInt16(exactly: number.intValue), port > 0 else { throw .proxySetting(key) }
        return [ProxyServer(kind, host: host, port: port)]
    }
}

extension StreamError {
    fileprivate static func proxySetting(_ key: String) -> StreamError {
        StreamError(  // EINVAL
            posix: 22, Sentence("proxy.dictionary", "The value of %1 in the proxy settings is not valid.", key))
    }
}
