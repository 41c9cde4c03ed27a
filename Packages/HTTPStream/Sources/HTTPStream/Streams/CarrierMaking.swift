@_spi(Packages) internal import HTTPMessage
internal import StreamKit

extension HTTPConnection {
    /// Begins to carry a request over the connection, which is open. The connection decides how.
    ///
    /// - Parameters:
    ///   - form: the request in the form for its recipient; nil if that of the fetch has it.
    ///   - host: the value of `Host`; nil for that of the origin at which the connection ends.
    ///   - preparation: what the carrier adds to the request.
    ///   - limits: the limits of the response.
    ///   - hasWaited: whether the request had to wait for the connection to open.
    func makeCarrier(
        of fetch: borrowing Fetch, as form: HTTPRequest?, host: String?, _ preparation: RequestPreparation,
        limits: HTTPLimits, hasWaited: Bool
    ) throws(StreamError) -> any HTTPCarrier {
        let (host, body) = (host ?? key.origin.hostField, fetch.body)
        switch line {
        case .http1(let link):
            link.accept(limits)
            return try HTTP1Exchange(
                head(of: fetch, as: form, host, body, preparation), fetch.method, body, on: self, link,
                keepsConnection: preparation.keepsConnection,
                offersSwitch: preparation.offersSwitch, hasWaited: hasWaited)
        case .http2(let link):
            let (sent, head) =
                if let form {
                    try preparation.prepareForHTTP2(form, host: host, body: body)
                } else {
                    try preparation.prepareForHTTP2(fetch.request, host: host, body: body)
                }
            return try HTTP2Exchange(
                sent, head, fetch.method, body, on: self, link, connectProtocol: preparation.upgrade, limits: limits)
        }
    }

    /// Not `form ?? fetch.request`, which would copy the request.
    private func head(
        of fetch: borrowing Fetch, as form: HTTPRequest?, _ host: String, _ body: HTTPBody?,
        _ preparation: RequestPreparation
    ) throws(StreamError) -> RequestPreparation.Head {
        if let form { return try preparation.prepare(form, host: host, body: body) }
        return try preparation.prepare(fetch.request, host: host, body: body)
    }
}
