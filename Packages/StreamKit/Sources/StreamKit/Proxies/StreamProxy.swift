public import HostResolver

/// A proxy that forwards a connection to its target.
///
/// ``SOCKSProxy`` is one; NetKit's `HTTPProxy` is another. A proxy of your own provides its address and its protocol:
///
/// ```swift
/// struct Doorkeeper: StreamProxy {
///     let kind = "doorkeeper", host = "door.example", port: UInt16 = 4000
///     func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine { Knock() }
/// }
/// try stream.set(.proxies, to: [ProxyRoute(Doorkeeper())])
/// ```
///
/// Unequal proxies make different routes: only proxies that are equal may share connections.
public protocol StreamProxy: Hashable, Sendable {
    /// The kind of proxy in one word, for reports and messages: `SOCKS5`.
    var kind: String { get }

    /// Its name or address.
    var host: String { get }

    /// Its port.
    var port: UInt16 { get }

    /// TLS on the connection to the proxy itself; nil for none. The name to verify is ``host``, unless the
    /// configuration has one.
    var tls: TLSConfiguration? { get }

    /// Where the target's name is looked up.
    var nameLookup: ProxyNameLookup { get }

    /// Returns the conversation that requests a connection to `target`. Called before anything is sent to the proxy.
    ///
    /// - Throws: if this proxy cannot connect to that target.
    func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine
}

extension StreamProxy {
    /// No TLS.
    public var tls: TLSConfiguration? { nil }

    /// By the proxy.
    public var nameLookup: ProxyNameLookup { .byProxy }
}

/// Where the name of a target behind a proxy is looked up.
public enum ProxyNameLookup: Sendable, Hashable {
    /// By the proxy, which receives the name. Nothing about the name is sent to a name server here.
    case byProxy

    /// Here, for these families. The proxy receives an address; the addresses are tried in turn.
    case here(AddressFamilies)
}
