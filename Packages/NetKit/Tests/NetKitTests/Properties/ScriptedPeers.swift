import EventLoops
import FTPStream
import Glibc
import HostResolver
import NetKit
import StreamKitTesting
import Testing

@testable import StreamKit

/// Knows the same addresses for every name, and keeps the names.
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

/// Finds several addresses at once.
struct KnownPlaces: PlaceFinder {
    let addresses: [SocketAddress]
    var description: String { "known places" }

    func start(_ handler: @escaping @Sendable (Result<FoundPlace, StreamError>) -> Void) -> LookupToken {
        let place = FoundPlace(addresses: addresses, name: "place.test")
        EventLoop.shared.execute { handler(.success(place)) }
        return LookupToken { true }
    }
}

/// An FTP server that agrees to everything but TLS, and keeps what it was told.
final class ScriptedFTPServer: Sendable {
    private let wantsAccount: Bool
    /// Data is withheld until a sign of life has come.
    let awaitsSign: Bool
    private let heard = Locked<[String]>([])
    private let listener = Locked<StreamListener?>(nil)

    init(wantsAccount: Bool = false, awaitsSign: Bool = false) {
        self.wantsAccount = wantsAccount
        self.awaitsSign = awaitsSign
    }

    var commands: [String] { heard.withLock { $0 } }

    func start() throws -> UInt16 {
        let made = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        listener.withLock { $0 = made }
        Task { try await made.run { client in try? await self.serve(client) } }
        return try #require(made.port)
    }

    func stop() { listener.withLock { $0.take() }?.stop(within: .zero) }

    /// Where the next data connection comes from.
    private enum Data {
        case none
        case listening(Socket)
        case connecting(UInt16)
    }

    private func serve(_ client: StreamPair) async throws {
        var data = Data.none
        var lines = Lines(client.input)
        func say(_ reply: String) async throws { try await client.output.writeAll(Array("\(reply)\r\n".utf8)) }
        try await say("220 ready")
        while let line = try await lines.next() {
            heard.withLock { $0.append(line) }
            switch line.split(separator: " ").first.map(String.init) {
            case "USER": try await say("331 password")
            case "PASS": try await say(wantsAccount ? "332 account" : "230 welcome")
            case "ACCT": try await say("230 welcome")
            case "TYPE", "NOOP": try await say("200 ok")
            case "CWD": try await say("250 ok")
            case "PWD", "MKD": try await say("257 \"/\" made")
            case "SIZE": try await say("213 6")
            case "REST": try await say("350 ok")
            case "EPSV":
                let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
                data = .listening(socket)
                try await say("229 here (|||\(socket.localAddress?.port ?? 0)|)")
            case "EPRT":
                data = .connecting(UInt16(line.split(separator: "|").last ?? "") ?? 0)
                try await say("200 ok")
            case "RETR", "NLST", "LIST", "MLSD":
                try await say("150 coming")
                let pair = try await connect(data)
                if awaitsSign { try await hearSign(&lines, client) }
                try await pair.output.writeAll(Array("datum\n".utf8))
                try await pair.output.finish()
                pair.close()
                try await say("226 done")
            case "STOR", "APPE":
                try await say("150 go on")
                let pair = try await connect(data)
                if awaitsSign, !commands.contains("NOOP") { try await hearSign(&lines, client) }
                _ = try await pair.input.readAll(limit: 1 << 20)
                pair.close()
                try await say("226 done")
            case "QUIT": return try await say("221 bye")
            default: try await say("502 unknown")
            }
        }
    }

    private func hearSign(_ lines: inout Lines, _ client: StreamPair) async throws {
        guard let line = try await lines.next() else { return }
        heard.withLock { $0.append(line) }
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
    /// Does all that such a stream is for, against an FTP server. What goes wrong shows in what the server hears.
    ///
    /// - Parameter mayFinish: whether an upload may come to its end.
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
                while !mayFinish() { await Task.yield() }
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
