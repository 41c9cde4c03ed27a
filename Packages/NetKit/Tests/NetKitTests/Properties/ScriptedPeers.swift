import EventLoops
import FTPStream
import Glibc
import HostResolver
import NetKit
import StreamKitTesting
import Testing

@testable import StreamKit

/// A resolver that returns the same addresses for every name, and records the names.
final class ListedResolver: Resolver {
    let names = Locked<[String]>([])
    private let addresses: [IPAddress]

    init(_ addresses: [IPAddress]) { self.addresses = addresses }

    func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken {
        names.withLock { $0.append(request.name.ascii) }
        let found = request.name.address.map { [$0] } ?? addresses
        EventLoop.shared.execute {
            handler(.batch(AddressBatch(found, families: .all)))
            handler(.finished(nil))
        }
        return LookupToken { true }
    }
}

/// A finder that returns several addresses at once.
struct KnownPlaces: AddressFinder {
    let addresses: [SocketAddress]
    var description: String { "known places" }

    func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
        let place = FoundAddresses(addresses: addresses, name: "place.test")
        EventLoop.shared.execute { handler(.success(place)) }
        return LookupToken { true }
    }
}

/// An FTP server that accepts every command except TLS, and records the commands.
final class ScriptedFTPServer: Sendable {
    private let wantsAccount: Bool
    /// Whether data are withheld until a keep-alive command has arrived.
    let awaitsKeepAlive: Bool
    private let received = Locked<[String]>([])
    private let listener = Locked<StreamListener?>(nil)

    init(wantsAccount: Bool = false, awaitsKeepAlive: Bool = false) {
        self.wantsAccount = wantsAccount
        self.awaitsKeepAlive = awaitsKeepAlive
    }

    var commands: [String] { received.withLock { $0 } }

    func start() throws -> UInt16 {
        let made = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        listener.withLock { $0 = made }
        Task { try await made.run { client in try? await self.serve(client) } }
        return try #require(made.port)
    }

    func stop() { listener.withLock { $0.take() }?.stop(within: .zero) }

    /// The origin of the next data connection.
    private enum Data {
        case none
        case listening(Socket)
        case connecting(UInt16)
    }

    private func serve(_ client: StreamPair) async throws {
        var data = Data.none
        var lines = Lines(client.input)
        func reply(_ line: String) async throws { try await client.output.writeAll(Array("\(line)\r\n".utf8)) }
        try await reply("220 ready")
        while let line = try await lines.next() {
            received.withLock { $0.append(line) }
            switch line.split(separator: " ").first.map(String.init) {
            case "USER": try await reply("331 password")
            case "PASS": try await reply(wantsAccount ? "332 account" : "230 welcome")
            case "ACCT": try await reply("230 welcome")
            case "TYPE", "NOOP": try await reply("200 ok")
            case "CWD": try await reply("250 ok")
            case "PWD", "MKD": try await reply("257 \"/\" made")
            case "SIZE": try await reply("213 6")
            case "REST": try await reply("350 ok")
            case "EPSV":
                let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
                data = .listening(socket)
                try await reply("229 here (|||\(socket.localAddress?.port ?? 0)|)")
            case "EPRT":
                data = .connecting(UInt16(line.split(separator: "|").last ?? "") ?? 0)
                try await reply("200 ok")
            case "RETR", "NLST", "LIST", "MLSD":
                try await reply("150 coming")
                let pair = try await connect(data)
                if awaitsKeepAlive { try await receiveKeepAlive(&lines, client) }
                try await pair.output.writeAll(Array("datum\n".utf8))
                try await pair.output.finish()
                pair.close()
                try await reply("226 done")
            case "STOR", "APPE":
                try await reply("150 go on")
                let pair = try await connect(data)
                if awaitsKeepAlive, !commands.contains("NOOP") { try await receiveKeepAlive(&lines, client) }
                _ = try await pair.input.readAll(limit: 1 << 20)
                pair.close()
                try await reply("226 done")
            case "QUIT": return try await reply("221 bye")
            default: try await reply("502 unknown")
            }
        }
    }

    private func receiveKeepAlive(_ lines: inout Lines, _ client: StreamPair) async throws {
        guard let line = try await lines.next() else { return }
        received.withLock { $0.append(line) }
        try await client.output.writeAll(Array("200 ok\r\n".utf8))
    }

    private func connect(_ data: Data) async throws -> StreamPair {
        let pair: StreamPair
        switch data {
        case .none: throw StreamError.closed
        case .listening(let socket): pair = try await socket.accept().makeStreams()
        case .connecting(let port): pair = StreamPair(address: .ip(.v4(.loopback), port: port))
        }
        try pair.open()
        return pair
    }

    /// The lines of a connection.
    private struct Lines {
        private let input: ReadStream
        private var received: [UInt8] = []

        init(_ input: ReadStream) { self.input = input }

        mutating func next() async throws -> String? {
            while true {
                if let end = received.firstIndex(of: 10) {
                    defer { received.removeFirst(end + 1) }
                    return String(decoding: received[..<end].filter { $0 != 13 }, as: UTF8.self)
                }
                let more = try await input.read(upTo: 512)
                if more.isEmpty { return nil }
                received += more
            }
        }
    }
}

extension Subject {
    /// Completes the work of the stream with an FTP server. Errors show in the commands that the server receives.
    ///
    /// - Parameter mayFinish: whether an upload is finished.
    func work(_ mayFinish: () -> Bool) async {
        do {
            switch self {
            case .reader(let stream):
                try stream.open()
                _ = try await stream.readAll(limit: 1000)
                stream.close()
            case .writer(let stream):
                try stream.open()
                try await stream.opened()
                if stream.status == .atEnd { return }
                try await stream.writeAll(Array("datum".utf8))
                while !mayFinish(), !Task.isCancelled { await Task.yield() }
                try await stream.finish()
                stream.close()
            case .client(let client):
                let stream = client.reader("file")
                try stream.open()
                _ = try await stream.readAll(limit: 1000)
                _ = try await client.list()
                let output = client.writer("file")
                try output.open()
                try await output.writeAll(Array("datum".utf8))
                try await output.finish()
            case .pair: break
            }
        } catch {
            close()
        }
    }
}
