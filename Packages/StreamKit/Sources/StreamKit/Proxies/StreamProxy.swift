public import HostResolver

/// Somebody on the way who leads a connection on to its target.
///
/// ``SOCKSProxy`` is one; NetKit's `HTTPProxy` is another. One of your own says where it is and how to talk with it:
///
/// ```swift
/// struct Doorkeeper: StreamProxy {
///     let kind = "doorkeeper", host = "door.example", port: UInt16 = 4000
///     func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine { Knock() }
/// }
/// try stream.set(.proxies, to: [ProxyRoute(Doorkeeper())])
/// ```
///
/// Values that differ are different ways: two proxies that are equal may share connections.
public protocol StreamProxy: Hashable, Sendable {
    /// What it is, in a word for reports and messages: `SOCKS5`.
    var kind: String { get }

    /// Its name or address.
    var host: String { get }

    /// Its port.
    var port: UInt16 { get }

    /// TLS on the connection to the proxy itself; nil for none. The name to verify is ``host`` unless it has another.
    var tls: TLSConfiguration? { get }

    /// Who looks up the target's name.
    var nameLookup: ProxyNameLookup { get }

    /// The conversation that asks for a connection to `target`. Called before anything is sent to the proxy.
    ///
    /// - Throws: if this proxy cannot be asked for that target.
    func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine
}

extension StreamProxy {
    /// None.
    public var tls: TLSConfiguration? { nil }

    /// The proxy.
    public var nameLookup: ProxyNameLookup { .byProxy }
}

/// Who looks up the name of a target behind a proxy.
public enum ProxyNameLookup: Sendable, Hashable {
    /// The proxy is told the name. Nothing about it is sent to a name server here.
    case byProxy

    /// It is looked up here, for these families, and the proxy is told an address. Addresses are tried in turn.
    case here(AddressFamilies)
}
