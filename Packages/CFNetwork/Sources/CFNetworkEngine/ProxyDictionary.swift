internal import CFNetworkC
internal import Foundation
internal import HTTPMessage
internal import HTTPStream
internal import StreamKit

extension ProxySettings {
    /// The settings of a dictionary with the keys of the system's proxy settings, such as `HTTPProxy` and `HTTPPort`.
    ///
    /// A proxy is used if its host is present and its `…Enable` is absent or not 0. Nil for a dictionary with an invalid value.
    init?(dictionary: NSDictionary) {
        self.init()
        // The program names the proxy for this stream, so that it applies to every host.
        bypassesLoopback = false
        var isValid = true
        func server(_ name: String, _ kind: ProxyServer.Kind) -> [ProxyServer] {
            if let isOn = dictionary["\(name)Enable"] as? NSNumber, !isOn.boolValue { return [] }
            guard let value = dictionary["\(name)Proxy"] else { return [] }
            guard let host = value as? String, !host.isEmpty else {
                isValid = false
                return []
            }
            guard let port = dictionary["\(name)Port"] else { return [ProxyServer(kind, host: host)] }
            guard let number = port as? NSNumber, let port = UInt16(exactly: number.intValue), port > 0 else {
                isValid = false
                return []
            }
            return [ProxyServer(kind, host: host, port: port)]
        }
        http = server("HTTP", .http)
        https = server("HTTPS", .http)
        ftp = server("FTP", .http)
        others = server("SOCKS", .socks5h)
        if let exceptions = dictionary["ExceptionsList"] {
            guard let list = exceptions as? [String] else { return nil }
            bypass = ProxyBypassList(exceptions: list)
        }
        bypassesSimpleNames = (dictionary["ExcludeSimpleHostnames"] as? NSNumber)?.boolValue ?? false
        if (dictionary[string(__kCFStreamPropertyProxyLocalBypass)] as? NSNumber)?.boolValue == true {
            bypassesSimpleNames = true
            bypass = ProxyBypassList(exceptions: (dictionary["ExceptionsList"] as? [String] ?? []) + ["*.local"])
        }
        usesPassiveFTP = (dictionary["FTPPassive"] as? NSNumber)?.boolValue
        if (dictionary["ProxyAutoConfigEnable"] as? NSNumber)?.boolValue ?? true {
            if let text = dictionary["ProxyAutoConfigJavaScript"] as? String {
                script = .text(text)
            } else if let url = dictionary["ProxyAutoConfigURLString"] as? String {
                script = .url(url)
            }
        }
        if !isValid { return nil }
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
