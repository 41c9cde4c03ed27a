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
        let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        defer { socket.invalidate() }
        guard case .ip(_, let port)? = socket.localAddress else { throw StreamError.notOpen }
        return port
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
