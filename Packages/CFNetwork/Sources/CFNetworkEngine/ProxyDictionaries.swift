internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CoreFoundation
internal import Foundation
internal import StreamKit

extension ProxyChoice {
    /// A retained dictionary with CFProxySupport.h's keys.
    func cfDictionary(for url: URL) -> Unmanaged<CFDictionary> {
        let dictionary = CFNDictionaryCreate().takeRetainedValue()
        func set(_ key: CFString, _ value: Unmanaged<some AnyObject>) {
            CFDictionarySetValue(dictionary, Unmanaged.passUnretained(key).toOpaque(), value.toOpaque())
            value.release()
        }
        func set(type: CFString) { set(__kCFProxyTypeKey, .passRetained(type)) }
        switch self {
        case .direct: set(type: __kCFProxyTypeNone)
        case .server(let server):
            set(type: server.type(for: url.scheme?.lowercased() ?? ""))
            set(__kCFProxyHostNameKey, cfString(server.host))
            set(__kCFProxyPortNumberKey, cfNumber(Int(server.port)))
        case .script(.url(let text)):
            set(type: __kCFProxyTypeAutoConfigurationURL)
            if let url = cfURL(text) { set(__kCFProxyAutoConfigurationURLKey, url) }
        case .script(.text(let text)):
            set(type: __kCFProxyTypeAutoConfigurationJavaScript)
            set(__kCFProxyAutoConfigurationJavaScriptKey, cfString(text))
        }
        return .fromOpaque(Unmanaged.passRetained(dictionary).toOpaque())
    }
}

extension ProxyServer {
    /// The type of the proxy for URLs of a scheme.
    fileprivate func type(for scheme: String) -> CFString {
        switch (kind, scheme) {
        case (.socks4, _), (.socks4a, _), (.socks5, _), (.socks5h, _): __kCFProxyTypeSOCKS
        case (_, "http"): __kCFProxyTypeHTTP
        case (_, "ftp"): __kCFProxyTypeFTP
        default: __kCFProxyTypeHTTPS
        }
    }

    fileprivate var isSOCKS: Bool {
        switch kind {
        case .http, .https: false
        case .socks4, .socks4a, .socks5, .socks5h: true
        }
    }
}

extension ProxySettings {
    /// A retained dictionary with the keys of the system's settings, without user names and passwords.
    var cfDictionary: Unmanaged<CFDictionary> {
        let dictionary = CFNDictionaryCreate().takeRetainedValue()
        func set(_ key: String, _ value: Unmanaged<some AnyObject>) {
            let key = cfString(key)
            CFDictionarySetValue(dictionary, key.toOpaque(), value.toOpaque())
            key.release()
            value.release()
        }
        let forAll = others.first { !$0.isSOCKS }
        let servers = [
            ("HTTP", http.first ?? forAll), ("HTTPS", https.first ?? forAll), ("FTP", ftp.first ?? forAll),
            ("SOCKS", others.first { $0.isSOCKS }),
        ]
        for case (let name, let server?) in servers {
            set("\(name)Enable", cfNumber(1))
            set("\(name)Proxy", cfString(server.host))
            set("\(name)Port", cfNumber(Int(server.port)))
        }
        if let usesPassiveFTP { set("FTPPassive", cfNumber(usesPassiveFTP ? 1 : 0)) }
        if bypassesSimpleNames { set("ExcludeSimpleHostnames", cfNumber(1)) }
        let exceptions = bypass.exceptions
        if !exceptions.isEmpty { set("ExceptionsList", cfArray(exceptions.map { cfString($0) })) }
        switch script {
        case .url(let url):
            set("ProxyAutoConfigEnable", cfNumber(1))
            set("ProxyAutoConfigURLString", cfString(url))
        case .text(let text):
            set("ProxyAutoConfigEnable", cfNumber(1))
            set("ProxyAutoConfigJavaScript", cfString(text))
        case nil: break
        }
        return .fromOpaque(Unmanaged.passRetained(dictionary).toOpaque())
    }
}

extension ProxyBypassList {
    /// The rules as an exceptions list. A rule of no_proxy covers a domain and everything below it, which are two exceptions.
    fileprivate var exceptions: [String] {
        rules.flatMap { rule in
            let text = rule.text.hasPrefix(".") ? String(rule.text.dropFirst()) : rule.text
            let isDomain = !text.contains("*") && ProxyBypassList([rule]).covers(host: "below.\(text)")
            return isDomain ? [text, "*.\(text)"] : [rule.text]
        }
    }
}
