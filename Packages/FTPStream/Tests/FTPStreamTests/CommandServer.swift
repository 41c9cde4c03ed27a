import FTPStream

/// An FTP server on loopback in this process. The test defines its replies; every data connection sends the same bytes.
final class CommandServer: Sendable {
    /// The reply to a command line; nil for the default reply.
    typealias Answer = @Sendable (_ line: String) async -> String?

    /// The port of 127.0.0.1 or ::1.
    let port: UInt16
    private let control: StreamListener
    private let data: StreamListener
    private let seen = Record()

    private final class Record: Sendable {
        let commands = Locked<[String]>([])
        let peers = Locked<[String]>([])
    }

    /// - Parameters:
    ///   - isIPv6: whether to listen on ::1.
    ///   - isProxied: whether to be a SOCKS proxy as well, whose clients all reach this server.
    ///   - content: the bytes that data connections send.
    ///   - answer: the reply to a command.
    ///   - maySend: awaited before the content is sent.
    init(
        isIPv6: Bool = false, isProxied: Bool = false, content: [UInt8] = Array("hello".utf8),
        answer: @escaping Answer = { _ in nil }, maySend: @escaping @Sendable () async -> Void = {}
    ) throws {
        let address = SocketAddress.ip(isIPv6 ? .v6(.loopback) : .v4(.loopback), port: 0)
        control = try StreamListener(address: address)
        data = try StreamListener(address: address)
        port = control.port ?? 0
        let dataPort = data.port ?? 0
        Task { [data] in
            try await data.run { client in
                await maySend()
                try? await client.output.writeAll(content)
                try? await client.output.finish()
                while let bytes = try? await client.input.read(upTo: 4096), !bytes.isEmpty {}
            }
        }
        Task { [control, seen] in
            try await control.run { client in
                let peer = client.output[.remoteAddress]?.ipAddress
                seen.peers.withLock { $0.append(peer?.description ?? "") }
                if isProxied {
                    for reply in [[5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
                        _ = try? await client.input.read(upTo: 512)
                        try? await client.output.writeAll(reply)
                    }
                }
                var rest: [UInt8] = []
                var reply = "220 Hi."
                while (try? await client.output.writeAll(Array((reply + "\r\n").utf8))) != nil {
                    while !rest.contains(0x0A) {
                        guard let bytes = try? await client.input.read(upTo: 4096), !bytes.isEmpty else { return }
                        rest += bytes
                    }
                    let line = String(decoding: rest.prefix { $0 != 0x0D }, as: UTF8.self)
                    rest.removeFirst(line.utf8.count + 2)
                    seen.commands.withLock { $0.append(line) }
                    let own = await answer(line)
                    reply = own ?? Self.reply(to: line, dataPort)
                }
            }
        }
    }

    deinit {
        control.stop(within: .zero)
        data.stop(within: .zero)
    }

    /// The command lines received so far.
    var commands: [String] { seen.commands.withLock { $0 } }

    /// The source addresses of the control connections.
    var peers: [String] { seen.peers.withLock { $0 } }

    private static func reply(to line: String, _ dataPort: UInt16) -> String {
        switch line.prefix(4) {
        case "USER": "331 Password?"
        case "PASS", "ACCT": "230 In."
        case "TYPE", "NOOP": "200 OK."
        case "CWD ": "250 There."
        case "PWD": "257 \"/\" is it."
        case "SIZE": "213 5"
        case "REST": "350 From there."
        case "EPSV": "229 (|||\(dataPort)|)"
        case "RETR", "LIST", "NLST", "STOR", "APPE": "150 Here.\r\n226 Done."
        default: "502 Unknown."
        }
    }
}
