internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// A request as a carrier needs it.
struct CarriedRequest {
    /// The request in the form for its recipient.
    let form: HTTPRequest
    let method: HTTPMethod
    /// Whether the form has no fields.
    let isBare: Bool
    /// The value of `Host`.
    let host: String
    let body: HTTPBody?
    /// The fields that the carrier adds.
    let preparation: RequestPreparation
    /// The protocol to which the request offers to switch; nil for none.
    let upgrade: String?

    /// The current request of a load.
    ///
    /// - Parameters:
    ///   - host: the value of `Host` for the origin, unless the application has named another.
    ///   - proxy: the proxy that receives the request; nil for the origin.
    init(
        _ fetch: borrowing Fetch, host: String, through proxy: @autoclosure () -> HTTPProxy?,
        _ proxies: ProxyProgress?, _ settings: borrowing LoadSettings
    ) throws(StreamError) {
        if fetch.isBare, proxies == nil {
            form = fetch.request
            isBare = true
        } else {
            guard let url = fetch.url else { throw .badURL("the request has none.") }
            form =
                if let proxies {
                    try proxies.form(
                        of: fetch.request, at: url, for: proxy(), hasBody: fetch.hasBody, settings.session?.logins)
                } else {
                    try HTTPRoute.form(fetch.request, of: url, for: nil)
                }
            isBare = form.fields.isEmpty
        }
        method = fetch.method
        self.host = (fetch.isAtNamedOrigin ? settings.host : nil) ?? host
        body = fetch.body
        preparation = RequestPreparation(
            keepsConnection: settings.keepsConnection, decodesContent: settings.decodesContent,
            offersSwitch: settings.offersSwitch, keepsEmptyUserAgent: settings.keepsEmptyUserAgent)
        upgrade = settings.session?.upgrade
    }
}
