import EventLoops
import Foundation
import Testing

@testable import FTPStream

/// Waiters are signalled, and connections closed and returned to the pool, without the lock of the transport: a callback may use
/// the stream.
@Suite(.timeLimit(.minutes(5))) struct FTPTransportTests {
    /// A watcher that uses the stream when it fires.
    private final class Caller: Watcher, @unchecked Sendable {
        // Unchecked only because the superclass is: it has only constants.
        private let stream: ReadStream
        let codes = Locked<[Int?]>([])

        init(_ stream: ReadStream) {
            self.stream = stream
        }

        override func fire() {
            let code = stream[.ftpLastReply]?.code
            codes.withLock { $0.append(code) }
        }
    }

    /// Begins a download, with a callback at the wait point of its next step.
    private func transfer() async throws -> (server: CommandServer, client: FTPClient, stream: ReadStream, Caller) {
        let server = try CommandServer()
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let stream = client.reader("x")
        try stream.open()
        try await stream.opened()
        let caller = Caller(stream)
        // The stream has no client, so nothing else observes its point. The server has sent everything, so no further edge comes, and the
        // registration at the connections stands for the next step.
        while stream.waitPoint.watch(.reader, for: .readable, with: caller) == .ready {}
        return (server, client, stream, caller)
    }

    @Test func aCallbackUsesAStreamThatIsClosed() async throws {
        let (_, _, stream, caller) = try await transfer()
        stream.close()
        #expect(caller.codes.withLock { $0.count } == 1)
    }

    /// A step of one caller, such as a check for bytes, does not take the wake-up of another one that waits.
    @Test func aStepLeavesOthersWaiting() async throws {
        let server = try Socket(listeningAt: .ip(.v4(.loopback), port: 0), backlog: 1)
        let port = try #require(server.localAddress?.port)
        let location = try FTPLocation(try #require(URL(string: "ftp://127.0.0.1:\(port)/x")))
        let transport = FTPTransport.reading(location.path, at: location, loop: .shared)
        let stream = ReadStream(transport: transport)
        try stream.open()
        let waiting = Task { _ = await #expect(throws: StreamError.self) { try await stream.opened() } }
        let connection = try await server.accept().makeStreams()
        try connection.open()
        for _ in 0..<20 {
            while transport.watchedPoints.isEmpty, !Task.isCancelled { await Task.yield() }
            _ = try transport.tryOpen()
        }
        try await connection.output.writeAll(Array("421 Too many users.\r\n".utf8))
        await waiting.value
        connection.close()
    }

    /// The server confirms a transfer whose data connection was reset: the bytes that are missing are an error all the same. The call
    /// that meets the error takes no step of the conversation, and the one that ends the transfer must meet it again.
    @Test(arguments: [false, true]) func anErrorOfTheDataConnectionIsReported(isUpload: Bool) async throws {
        let data = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let port = try #require(data.localAddress?.port)
        let server = try CommandServer { $0.hasPrefix("EPSV") ? "229 (|||\(port)|)" : nil }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let (reader, writer) = (client.reader("x"), client.writer("x"))
        if isUpload { try writer.open() } else { try reader.open() }
        let connection = try await data.accept()
        if isUpload {
            try await writer.writeAll(Array("he".utf8))
        } else {
            try await connection.sendAll(Array("he".utf8))
            var bytes: [UInt8] = []
            while bytes.count < 2 { bytes += try await reader.read(upTo: 2) }
        }
        try connection.set(.linger, to: .zero)
        connection.invalidate()
        let error = await #expect(throws: StreamError.self) {
            if !isUpload { _ = try await reader.read(upTo: 2) }
            // The first bytes may be accepted before the reset arrives.
            while isUpload { try await writer.writeAll([1]) }
        }
        let isReset = [ECONNRESET, EPIPE].contains { error?.isPOSIX($0) == true }
        #expect(isReset, "\(String(describing: error))")
    }

    /// How the program ends a download.
    enum End: CaseIterable {
        case completed, failed, closed, dropped
    }

    /// The conversation refers to the transport, until it ends.
    @Test(arguments: End.allCases) func aTransportIsReleasedWithItsStream(_ end: End) async throws {
        let server = try CommandServer { line in end == .failed && line.hasPrefix("RETR") ? "550 No." : nil }
        let location = try FTPLocation(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/x")))
        weak var weakTransport: FTPTransport?
        do {
            let transport = FTPTransport.reading(location.path, at: location, loop: .shared)
            weakTransport = transport
            let stream = ReadStream(transport: transport)
            try stream.set(.ftp(\.keepsConnection), to: false)
            try stream.open()
            do throws(StreamError) {
                try await stream.opened()
                #expect(end != .failed)
            } catch {
                #expect(end == .failed)
            }
            if end == .completed { while try await !stream.read(upTo: 4096).isEmpty {} }
            if end == .closed { stream.close() }
        }
        // The loop releases the timers that were cancelled in its next turn.
        while weakTransport != nil, !Task.isCancelled { await Task.yield() }
    }
}
