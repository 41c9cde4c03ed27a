public import HTTPMessage
public import StreamKit

extension StreamProperty where Value == HTTPResponse {
    /// The last HTTP proxy's answer to the request for a tunnel: a 2xx, or a refusal with its body. Nil without a tunnel.
    ///
    /// Also there if the stream could not be opened because of it. Replaces `kCFStreamPropertyCONNECTResponse`.
    public static var httpProxyResponse: Self { .init(setting: "NetKit.http.proxyResponse", access: .readOnly) }
}

extension StreamProperty where Value == ProxySettings {
    /// Settings to find the proxies by, for the URL of the request and of each redirect that is followed.
    ///
    /// A script that is to decide is loaded and run first, once for each URL. Nil (default): no proxies but those of
    /// `StreamProperty.proxies`, which count if both are set. Replaces the dictionary of `kCFStreamPropertyHTTPProxy`.
    public static var httpProxySettings: Self { .init(setting: "NetKit.http.proxySettings", access: .beforeOpen) }
}

extension StreamProperty where Value == HTTPProxy {
    /// The proxy through which the answer came, if it takes requests, or that refused a tunnel with 407. Nil if the answer is
    /// the origin's own, such as a 407 that only pretends to come from a proxy.
    public static var httpAnsweringProxy: Self { .init(setting: "NetKit.http.answeringProxy", access: .readOnly) }
}
