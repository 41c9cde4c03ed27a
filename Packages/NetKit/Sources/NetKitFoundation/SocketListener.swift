internal import NetKit
internal import ServiceDiscoveryFoundation

/// The listening sockets of a published service.
final class SocketListener: NetServiceListener {
    let port: UInt16
    private let sockets: [Socket]

    /// - Parameter accepted: gets the streams of each connection, on the loop of all.
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
