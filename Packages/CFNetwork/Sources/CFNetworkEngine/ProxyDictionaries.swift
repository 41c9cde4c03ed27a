internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import Foundation
internal import HTTPMessage
internal import HTTPStream
package import StreamKit
internal import StreamKitFoundation

// MARK: - From the program

extension ProxySettings {
    /// The settings of a dictionary with the keys of the system's proxy settings, and `kCFStreamPropertyProxyLocalBypass`.
    ///
    /// Nil for a dictionary with an invalid value.
    init?(settings dictionary: NSDictionary) {
        var values: [String: Any] = [:]
        for (key, value) in dictionary {
            if let key = key as? String { values[key] = value }
        }
        guard let settings = try? ProxySettings(dictionary: values) else { return nil }
        self = settings
        // The program names the proxy for this stream, so that it applies to every host.
        bypassesLoopback = false
        if (dictionary[string(__kCFStreamPropertyProxyLocalBypass)] as? NSNumber)?.boolValue == true {
            bypassesSimpleNames = true
            bypass = ProxyBypassList(exceptions: (values["ExceptionsList"] as? [String] ?? []) + ["*.local"])
        }
    }
}

extension HTTPProxy {
    /// The proxy of a dictionary with the CONNECT keys of CFSocketStream.h; nil for an invalid one, or one that is not honoured.
    init?(dictionary: NSDictionary) {
        guard let host = dictionary[string(__kCFStreamPropertyCONNECTProxyHost)] as? String, !host.isEmpty,
            let number = dictionary[string(__kCFStreamPropertyCONNECTProxyPort)] as? NSNumber,
            let port = UInt16(exactly: number.intValue), port > 0
        else { return nil }
        if let version = dictionary[string(__kCFStreamPropertyCONNECTVersion)] {
            guard version as? String == "HTTP/1.1" else { return nil }
        }
        self.init(host: host, port: port)
        guard let added = dictionary[string(__kCFStreamPropertyCONNECTAdditionalHeaders)] else { return }
        guard let added = added as? [String: String] else { return nil }
        for (name, value) in added.sorted(by: { $0.key < $1.key }) {
            guard let name = HTTPFieldName(name), (try? fields.append(value, for: name)) != nil else { return nil }
        }
    }
}

// MARK: - To the program

extension ProxyChoice {
    /// A retained dictionary with CFProxySupport.h's keys.
    func cfDictionary(for url: URL) -> Unmanaged<CFDictionary> {
        let dictionary = cfn_dictionary_create().takeRetainedValue()
        func set(type: CFString) { dictionary.set(__kCFProxyTypeKey, .passRetained(type)) }
        switch self {
        case .direct: set(type: __kCFProxyTypeNone)
        case .server(let server):
            set(type: server.type(for: url.scheme?.lowercased() ?? ""))
            dictionary.set(__kCFProxyHostNameKey, cfString(server.host))
            dictionary.set(__kCFProxyPortNumberKey, cfNumber(Int(server.port)))
        case .script(.url(let text)):
            set(type: __kCFProxyTypeAutoConfigurationURL)
            if let url = cfURL(text) { dictionary.set(__kCFProxyAutoConfigurationURLKey, url) }
        case .script(.text(let text)):
            set(type: __kCFProxyTypeAutoConfigurationJavaScript)
            dictionary.set(__kCFProxyAutoConfigurationJavaScriptKey, cfString(text))
        }
        return dictionary.retained
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
    package var cfDictionary: Unmanaged<CFDictionary> {
        let dictionary = cfn_dictionary_create().takeRetainedValue()
        let forAll = others.first { !$0.isSOCKS }
        let servers = [
            ("HTTP", http.first ?? forAll), ("HTTPS", https.first ?? forAll), ("FTP", ftp.first ?? forAll),
            ("SOCKS", others.first { $0.isSOCKS }),
        ]
        for case (let name, let server?) in servers {
            dictionary.set("\(name)Enable", cfNumber(1))
            dictionary.set("\(name)Proxy", cfString(server.host))
            dictionary.set("\(name)Port", cfNumber(Int(server.port)))
        }
        if let usesPassiveFTP { dictionary.set("FTPPassive", cfNumber(usesPassiveFTP ? 1 : 0)) }
        if bypassesSimpleNames { dictionary.set("ExcludeSimpleHostnames", cfNumber(1)) }
        let exceptions = bypass.exceptions
        if !exceptions.isEmpty { dictionary.set("ExceptionsList", cfArray(exceptions.map { cfString($0) })) }
        switch script {
        case .url(let url):
            dictionary.set("ProxyAutoConfigEnable", cfNumber(1))
            dictionary.set("ProxyAutoConfigURLString", cfString(url))
        case .text(let text):
            dictionary.set("ProxyAutoConfigEnable", cfNumber(1))
            dictionary.set("ProxyAutoConfigJavaScript", cfString(text))
        case nil: break
        }
        return dictionary.retained
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
