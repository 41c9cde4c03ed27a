import FTPStream

/// An FTP server on loopback in this process. The test defines its replies and what data connections send.
final class CommandServer: Sendable {
    /// The reply to a command line; nil for the default reply. After a reply that ends in ``hangUp``, the server closes the connection.
    typealias Answer = @Sendable (_ line: String) async -> String?

    static let hangUp = "\u{4}"

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
    ///   - hasPassive: whether it supports PASV.
    ///   - content: the bytes that data connections send.
    ///   - contents: the bytes that a data connection sends after a command, instead of `content`. For one session at a time.
    ///   - answer: the reply to a command.
    ///   - maySend: awaited before the content is sent.
    init(
        isIPv6: Bool = false, isProxied: Bool = false, hasPassive: Bool = false, content: [UInt8] = Array("hello".utf8),
        answer: @escaping Answer = { _ in nil },
        maySend: @escaping @Sendable () async -> Void = {},
        contents: (@Sendable (_ line: String) -> [UInt8])? = nil
    ) throws {
        let address = SocketAddress.ip(isIPv6 ? .v6(.loopback) : .v4(.loopback), port: 0)
        control = try StreamListener(address: address)
        data = try StreamListener(address: address)
        port = control.port ?? 0
        let dataPort = data.port ?? 0
        let (transfers, begun) = AsyncStream<String>.makeStream()
        Task { [data] in
            try await data.run { client in
                await maySend()
                var bytes = content
                if let contents {
                    var next = transfers.makeAsyncIterator()
                    bytes = await next.next().map(contents) ?? []
                }
                try? await client.output.writeAll(bytes)
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
                    reply = own ?? Self.reply(to: line, dataPort, hasPassive: hasPassive)
                    // A refused REST or RETR leaves a data connection without a command.
                    let isUnused =
                        line.hasPrefix("REST") && !reply.hasPrefix("350")
                        || line.hasPrefix("RETR") && reply.hasPrefix("5")
                    if reply.hasPrefix("150") || isUnused { begun.yield(line) }
                    if reply.hasSuffix(Self.hangUp) {
                        try? await client.output.writeAll(Array((reply.dropLast() + "\r\n").utf8))
                        return
                    }
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

    private static func reply(to line: String, _ dataPort: UInt16, hasPassive: Bool) -> String {
        switch line.prefix(4) {
        case "USER": "331 Password?"
        case "PASS", "ACCT": "230 In."
        case "TYPE", "NOOP": "200 OK."
        case "CWD ": "250 There."
        case "PWD": "257 \"/\" is it."
        case "SIZE": "213 5"
        case "REST": "350 From there."
        case "EPSV": "229 (|||\(dataPort)|)"
        case "PASV" where hasPassive: "227 (127,0,0,1,\(dataPort >> 8),\(dataPort & 0xFF))"
        case "QUIT": "221 Bye.\(hangUp)"
        case "RETR", "LIST", "NLST", "STOR", "APPE": "150 Here.\r\n226 Done."
        default: "502 Unknown."
        }
    }
}
