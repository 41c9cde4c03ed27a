public import Foundation
public import ServiceDiscovery

/// What ``NetService`` needs streams for. NetKitFoundation adopts it for ``NetService``, which finds that when it runs; nobody else
/// need.
public protocol NetServiceConnecting {
    /// Listens for connections, on IPv4 and IPv6, at one port of TCP.
    ///
    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - accepted: gets each connection, on any thread, as what makes its two streams, not open; letting go of that refuses
    ///     the connection.
    static func listen(
        port: UInt16, accepted: @escaping @Sendable (@escaping @Sendable () -> (InputStream, OutputStream)) -> Void
    ) throws(ServiceDiscoveryError) -> any NetServiceListener
}

/// Listens until it is closed.
public protocol NetServiceListener: AnyObject, Sendable {
    /// Where.
    var port: UInt16 { get }
    /// Ends it; idempotent.
    func close()
}
