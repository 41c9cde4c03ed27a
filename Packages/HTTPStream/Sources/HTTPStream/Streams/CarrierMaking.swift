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
        let (request, host, body) = (form ?? fetch.request, host ?? key.origin.hostField, fetch.body)
        switch line {
        case .http1(let link):
            link.accept(limits)
            return try HTTP1Exchange(
                preparation.prepare(request, host: host, body: body), fetch.method, body, on: self, link,
                keepsConnection: preparation.keepsConnection,
                offersSwitch: preparation.offersSwitch, hasWaited: hasWaited)
        case .http2(let link):
            // The head is prepared as that of HTTP/1.1 and then parsed, so that both versions have the same rules for fields.
            var preparation = preparation
            preparation.isForHTTP2 = true
            let head = try preparation.prepare(request, host: host, body: body)
            let sent = try RequestPreparation.requestForHTTP2(
                of: head.bytes, mayHaveConnectionFields: request.hasFields)
            return try HTTP2Exchange(
                sent, head, fetch.method, body, on: self, link, connectProtocol: preparation.upgrade, limits: limits)
        }
    }
}
