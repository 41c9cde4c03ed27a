public import Foundation
public import ServiceDiscovery

/// What ``NetService`` needs streams for. NetKitFoundation adopts it for ``NetService``, which finds that when it runs; nobody else
/// need.
public protocol NetServiceConnecting {
    /// Listens for connections, on IPv4 and IPv6, at one port of TCP.
    ///
    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - accepted: gets the descriptor of each connection, which is its own from then on; on any thread.
    static func listen(
        port: UInt16, accepted: @escaping @Sendable (CInt) -> Void
    ) throws(ServiceDiscoveryError) -> any NetServiceListener

    /// Two streams that are not open, over a connection that is theirs from now on.
    static func streams(adopting descriptor: CInt) -> (InputStream, OutputStream)
}

/// Listens until it is closed.
public protocol NetServiceListener: AnyObject, Sendable {
    /// Where.
    var port: UInt16 { get }
    /// Ends it; idempotent.
    func close()
}
