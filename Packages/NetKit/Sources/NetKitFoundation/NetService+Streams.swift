public import Foundation
internal import NetKit
public import ServiceDiscovery
public import ServiceDiscoveryFoundation
internal import StreamKitFoundation

extension NetService {
    /// Makes two unopened streams to the service. Opening them resolves the service and connects.
    ///
    /// ```swift
    /// var input: InputStream?
    /// var output: OutputStream?
    /// guard service.getInputStream(&input, outputStream: &output) else { return }
    /// input?.open()
    /// output?.open()
    /// ```
    ///
    /// The service need not be resolved before. A half whose pointer is nil is not made. See `StreamPair(service:)`.
    ///
    /// - Returns: false if name, type and domain do not form a valid service.
    public func getInputStream(
        _ inputStream: UnsafeMutablePointer<InputStream?>?, outputStream: UnsafeMutablePointer<OutputStream?>?
    ) -> Bool {
        guard let type = try? ServiceType(type), type.transport == .tcp, let domain = try? ServiceDomain(domain),
            let service = try? ServiceInstance(name: name, type: type, domain: domain)
        else { return false }
        Stream.getStreams(
            of: StreamPair(service: service, engine: engine), inputStream: inputStream, outputStream: outputStream)
        return true
    }
}

/// The sockets and streams of `NetService.Options.listenForConnections`.
// With the module names, since `@retroactive` is an error if both modules belong to one package, as in the whole repository.
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

/// The listening sockets of a published service.
final class SocketListener: NetServiceListener {
    let port: UInt16
    private let sockets: [Socket]

    /// - Parameter accepted: called with the streams of each connection, on the shared loop.
    init(port: UInt16, accepted: @escaping @Sendable (StreamPair) -> Void) throws(StreamError) {
        sockets = try Socket.listeners(onPort: port)
        self.port = sockets.first?.localAddress?.port ?? port
        for socket in sockets {
            try socket.setClient(.accept) { _, event in
                if case .accepted(let client) = event, let pair = try? client.makeStreams() { accepted(pair) }
            }
            socket.schedule(on: .loop(.shared))
        }
    }

    deinit { close() }

    func close() {
        for socket in sockets { socket.invalidate() }
    }
}
