internal import Glibc
@_spi(Packages) internal import HTTPMessage

/// An HTTP proxy at one address, asked for a tunnel without credentials.
struct ProbedProxy: StreamProxy {
    var kind: String { tls == nil ? "HTTP" : "HTTPS" }
    let host: String
    let port: UInt16
    let tls: TLSConfiguration?

    /// - Parameters:
    ///   - address: The address of the proxy.
    ///   - tls: The TLS with the proxy; nil for none. Its name is that of the proxy, unless it has one.
    init(_ proxy: ProxyServer, at address: IPAddress, tls: TLSConfiguration?) {
        host = "\(address)"
        port = proxy.port
        var named = tls
        named?.peerName = tls?.peerName ?? proxy.host
        self.tls = named
    }

    func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine {
        do throws(HTTPMessageError) {
            var request = try HTTPRequest(connectingTo: target.description)
            try request.fields.set("\(ServiceProbe.userAgent)", for: .userAgent)
            return ProbedTunnel(request: request.serialized())
        } catch {
            throw StreamError(posix: EINVAL, underlying: error)
        }
    }
}

/// The status with which a proxy refused a tunnel. It is the underlying error of the stream's error.
struct ProbedRefusal: Error {
    let status: Int
}

/// The conversation with a ``ProbedProxy``: one request, and a ``ConnectExchange`` for its response.
private struct ProbedTunnel: TunnelMachine {
    private var request: [UInt8]
    private var exchange = ConnectExchange(maximumBodyLength: 0)
    private var response: HTTPResponse?
    private(set) var refusal: TunnelRefusal?

    init(request: [UInt8]) { self.request = request }

    mutating func next() throws(StreamError) -> TunnelAction {
        if !request.isEmpty {
            defer { request = [] }
            return .send(request)
        }
        guard let response else { return .receive(upTo: 4096) }
        guard response.status.kind == .successful else {
            refusal = .request
            throw StreamError(posix: ECONNREFUSED, underlying: ProbedRefusal(status: response.status.code))
        }
        return .established("tunnel", surplus: exchange.surplus)
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) {
        do throws(HTTPMessageError) { response = try exchange.receive(bytes) } catch { throw .notHTTPProxy }
    }

    mutating func receiveEnd() throws(StreamError) {
        throw exchange.surplus.isEmpty ? .closedByServer : .notHTTPProxy
    }
}
