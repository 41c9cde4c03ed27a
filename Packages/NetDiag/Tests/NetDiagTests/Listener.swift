import Glibc
import NetDiag

/// A server on loopback that answers each connection alike, once it was asked, and keeps what it was asked.
final class Listener: Sendable {
    let port: UInt16
    private let socket: Socket
    private let heard = Locked<[String]>([])
    var requests: [String] { heard.withLock { $0 } }

    init(_ answer: String) throws {
        socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        guard case .ip(_, let port)? = socket.localAddress else { throw StreamError.notOpen }
        self.port = port
        let socket = socket
        Task { [weak self] in
            while let pair = try? await socket.accept().makeStreams() {
                try pair.open()
                let request = (try? await pair.input.read(upTo: 8192)) ?? []
                if !request.isEmpty { self?.heard.withLock { $0.append(String(decoding: request, as: UTF8.self)) } }
                try? await pair.output.writeAll(Array(answer.utf8))
                try? await pair.output.finish()
                pair.close()
            }
        }
    }

    deinit { socket.invalidate() }

    /// A port at which nobody listens.
    static func closedPort() throws -> UInt16 {
        // Bound for as long as the tests run, and never listened at: nobody else is given it meanwhile.
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let isBound = SocketAddress.ip(.v4(.loopback), port: 0).withSockAddr { bind(descriptor, $0, $1) == 0 }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
        }
        guard isBound, isKnown else { throw StreamError.notOpen }
        return UInt16(bigEndian: address.sin_port)
    }
}

extension NetDiagnostic.Options {
    /// For servers that do answer, however slow the machine is.
    static var patient: Self {
        var options = NetDiagnostic.Options()
        options.lookupLimit = .seconds(60)
        options.connectionLimit = .seconds(60)
        options.answerLimit = .seconds(60)
        return options
    }
}
