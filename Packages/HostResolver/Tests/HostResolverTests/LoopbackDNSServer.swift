import DNSWire
import Glibc

@testable import HostResolver

/// A scripted name server on loopback, over UDP and TCP on one port.
final class LoopbackDNSServer: Sendable {
    /// The server's reaction to one query.
    enum Reaction: Sendable {
        /// Sends a message.
        case answer(DNSMessage)
        /// Sends bytes.
        case bytes([UInt8])
        /// Sends forged bytes, optionally from another port, then the true answer.
        case answerAfter(forged: [UInt8], fromOtherPort: Bool, DNSMessage)
        /// Sends a message over UDP once it is permitted, and serves other queries meanwhile.
        case held(until: OneShot<Void>, DNSMessage)
        /// Sends nothing.
        case silence
        /// Closes the TCP connection.
        case hangUp
    }

    typealias Behaviour = @Sendable (_ query: DNSMessage, _ isTCP: Bool) -> Reaction

    let address: SocketAddress
    private let udp: WaitPoint
    private let tcp: WaitPoint
    private let seen = Locked<[(question: DNSQuestion, isTCP: Bool)]>([])
    private let behaviour: Behaviour

    /// Starts a server.
    init(_ behaviour: @escaping Behaviour) throws {
        let any = SocketAddress("127.0.0.1:0")!
        // The port that the kernel chooses for TCP may be in use for UDP; then try another one.
        var sockets: (udp: CInt, tcp: CInt, address: SocketAddress)?
        for _ in 0..<50 where sockets == nil {
            let tcp = Self.socket(SOCK_STREAM, any)
            let address = SocketAddress.local(of: tcp)!
            let udp = Self.socket(SOCK_DGRAM, address)
            if udp >= 0 { sockets = (udp, tcp, address) } else { close(tcp) }
        }
        guard let sockets else { throw ResolverError(.system) }
        listen(sockets.tcp, 16)
        address = sockets.address
        udp = WaitPoint(descriptor: sockets.udp, ownership: .owned)
        tcp = WaitPoint(descriptor: sockets.tcp, ownership: .owned)
        self.behaviour = behaviour
        // Not on the concurrency pool, where tests that block a thread would delay the server.
        Task(executorPreference: EventLoop.shared) { await self.serveDatagrams() }
        Task(executorPreference: EventLoop.shared) { await self.acceptConnections() }
    }

    /// Stops the server.
    func stop() {
        udp.close()
        tcp.close()
    }

    /// The questions so far.
    var questions: [DNSQuestion] { seen.withLock { $0.map(\.question) } }

    /// The number of queries over TCP.
    var tcpCount: Int { seen.withLock { $0.count { $0.isTCP } } }

    /// Returns a configuration with this server only.
    func configuration(_ change: (inout ResolverConfiguration) -> Void = { _ in }) -> ResolverConfiguration {
        var configuration = ResolverConfiguration(servers: [address])
        configuration.attempts = 1
        change(&configuration)
        return configuration
    }

    private func serveDatagrams() async {
        guard udp.enter(.reader) == .entered else { return }
        defer { udp.leave(.reader) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !udp.isClosed(.reader) {
            var source = [UInt8](repeating: 0, count: 128)
            var length = socklen_t(128)
            let count = source.withUnsafeMutableBytes {
                recvfrom(
                    udp.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT),
                    $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
            }
            guard count >= 0 else {
                if await udp.readerWait(for: .readable, until: nil) == .ready { continue } else { return }
            }
            guard let query = try? DNSMessage(wire: Array(buffer[..<count])),
                let client = try? SocketAddress(sockaddr: Array(source.prefix(Int(length))))
            else { continue }
            switch react(to: query, isTCP: false) {
            case .answer(let message): send((try? message.wireForm()) ?? [], to: client, on: udp.descriptor)
            case .bytes(let bytes): send(bytes, to: client, on: udp.descriptor)
            case .answerAfter(let forged, let fromOtherPort, let message):
                let other = Self.socket(SOCK_DGRAM, SocketAddress("127.0.0.1:0")!)
                send(forged, to: client, on: fromOtherPort ? other : udp.descriptor)
                close(other)
                send((try? message.wireForm()) ?? [], to: client, on: udp.descriptor)
            case .held(let permission, let message):
                Task(executorPreference: EventLoop.shared) { [self] in
                    try await permission.value()
                    send((try? message.wireForm()) ?? [], to: client, on: udp.descriptor)
                }
            case .silence, .hangUp: break
            }
        }
    }

    private func acceptConnections() async {
        guard tcp.enter(.reader) == .entered else { return }
        defer { tcp.leave(.reader) }
        while !tcp.isClosed(.reader) {
            let descriptor = accept(tcp.descriptor, nil, nil)
            if descriptor >= 0 {
                Task(executorPreference: EventLoop.shared) {
                    await self.serve(WaitPoint(descriptor: descriptor, ownership: .owned))
                }
            } else if await tcp.readerWait(for: .readable, until: nil) != .ready {
                return
            }
        }
    }

    private func serve(_ connection: WaitPoint) async {
        defer { connection.close() }
        guard connection.enter(.reader) == .entered else { return }
        defer { connection.leave(.reader) }
        var received: [UInt8] = []
        while received.count < 2 || received.count < 2 + Int(received[0]) << 8 + Int(received[1]) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(connection.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            if count > 0 {
                received += buffer[..<count]
            } else if count == 0 {
                return
            } else if await connection.readerWait(for: .readable, until: nil) != .ready {
                return
            }
        }
        guard let query = try? DNSMessage(wire: Array(received.dropFirst(2))) else { return }
        var reply: [UInt8] = []
        switch react(to: query, isTCP: true) {
        case .answer(let message), .answerAfter(_, _, let message): reply = (try? message.wireForm()) ?? []
        case .bytes(let bytes): reply = bytes
        case .silence, .held: _ = await connection.readerWait(for: .readable, until: nil)
        case .hangUp: return
        }
        let framed = [UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply
        // In two pieces, so that the reader receives an incomplete length first.
        for piece in [framed.prefix(1), framed.dropFirst(1)] {
            _ = piece.withUnsafeBytes {
                Glibc.send(connection.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    private func react(to query: DNSMessage, isTCP: Bool) -> Reaction {
        // So that a behaviour can use the question.
        guard let question = query.questions.first else { return .silence }
        seen.withLock { $0.append((question, isTCP)) }
        return behaviour(query, isTCP)
    }

    private func send(_ bytes: [UInt8], to client: SocketAddress, on descriptor: CInt) {
        _ = client.withSockAddr { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }

    private static func socket(_ type: __socket_type, _ address: SocketAddress) -> CInt {
        let flags = CInt(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(address.family, flags, 0)
        guard address.withSockAddr({ bind(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

extension DNSMessage {
    /// Returns an answer to this query, with the given records.
    func answered(_ data: [DNSRecordData], timeToLive: UInt32 = 60, code: UInt8 = 0) -> DNSMessage {
        var message = self
        message.header.isResponse = true
        message.header.offersRecursion = true
        message.header.shortResponseCode = code
        message.additionals = []
        message.answers = data.map { DNSRecord(questions[0].name, timeToLive: timeToLive, $0) }
        return message
    }
}
