public import Foundation
internal import NetKit
public import ServiceDiscovery
public import ServiceDiscoveryFoundation
internal import StreamKitFoundation

/// Gives `NetService.Options.listenForConnections` its sockets and streams.
// With its modules' names, as `@retroactive` is an error where both are one package, which the whole repository is.
extension ServiceDiscoveryFoundation.NetService: ServiceDiscoveryFoundation.NetServiceConnecting {
    /// Listens at one port on IPv4 and IPv6.
    public static func listen(
        port: UInt16, accepted: @escaping @Sendable (@escaping @Sendable () -> (InputStream, OutputStream)) -> Void
    ) throws(ServiceDiscoveryError) -> any NetServiceListener {
        do throws(StreamError) {
            return try SocketListener(port: port) { pair in
                accepted {
                    var (input, output) = (nil as InputStream?, nil as OutputStream?)
                    Stream.getStreams(of: pair, inputStream: &input, outputStream: &output)
                    return (input ?? InputStream(data: Data()), output ?? OutputStream.toMemory())
                }
            }
        } catch {
            throw ServiceDiscoveryError(
                .system, detail: error.description, domain: .init(rawValue: error.domain.rawValue), number: error.code)
        }
    }
}
