internal import CFNetworkC
internal import Foundation
internal import HTTPMessage
internal import HTTPStream
internal import StreamKit
internal import StreamKitFoundation

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
