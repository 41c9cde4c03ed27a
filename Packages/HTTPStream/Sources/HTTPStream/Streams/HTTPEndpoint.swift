public import HostResolver
internal import StreamKit

/// Where the connections to an origin lead, instead of the host and port of the URL.
///
/// Only the connection differs: the `Host` field, the name in the server's certificate, cookies, credentials and redirects are those
/// of the URL.
public enum HTTPEndpoint: Sendable, Hashable {
    /// Another host and port; the name is looked up.
    case host(String, port: UInt16)
    /// Addresses with ports, tried as RFC 8305 describes, or the address of a Unix socket. No name is looked up.
    case addresses([SocketAddress])

    /// A Unix socket, such as that of a local service.
    public static func unixSocket(_ address: UnixSocketAddress) -> Self { .addresses([.unix(address)]) }
}

/// The endpoints that replace the hosts of URLs, by origin. The value of ``HTTPOptions/endpoints``.
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// // The next version of a site, before its name leads there:
/// configuration.options.endpoints = HTTPEndpoints([
///     try HTTPOrigin(URL(string: "https://www.example.org")!): .host("next.example.org", port: 443)
/// ])
/// // A service that listens on a Unix socket:
/// configuration.options.endpoints = HTTPEndpoints(
///     others: .unixSocket(try UnixSocketAddress(path: "/run/service.sock")))
/// ```
///
/// A request to an origin with an endpoint uses no proxy.
public struct HTTPEndpoints: Sendable, Hashable {
    /// The endpoints of single origins.
    public var origins: [HTTPOrigin: HTTPEndpoint]
    /// The endpoint of all other origins; nil if their connections lead to the host of the URL.
    public var others: HTTPEndpoint?

    /// Makes a table of endpoints.
    public init(_ origins: [HTTPOrigin: HTTPEndpoint] = [:], others: HTTPEndpoint? = nil) {
        self.origins = origins
        self.others = others
    }

    /// The endpoint of an origin; nil for the host and port of the URL.
    public subscript(origin: HTTPOrigin) -> HTTPEndpoint? { origins[origin] ?? others }
}

extension StreamPair {
    /// A connection for requests to an origin.
    init(to endpoint: HTTPEndpoint, for origin: HTTPOrigin, _ properties: StreamProperties, loop: EventLoop) {
        switch endpoint {
        case .host(let host, let port):
            var properties = properties
            // The certificate is that of the origin.
            if properties[.tls] != nil, properties[.tls]?.peerName == nil { properties[.tls]?.peerName = origin.host }
            self.init(host: host, port: port, properties: properties, loop: loop)
        case .addresses(let addresses):
            self.init(addresses: addresses, name: origin.host, properties: properties, loop: loop)
        }
    }
}
