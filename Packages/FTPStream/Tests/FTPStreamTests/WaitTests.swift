import Foundation
import Glibc
import Testing

@_spi(Packages) @testable import FTPStream

/// No wait outlives the fact that decides it, and where the first way fails the second is taken.
@Suite(.timeLimit(.minutes(5))) struct WaitTests {
    private func client(_ server: CommandServer) throws -> FTPClient {
        try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
    }

    private func content(_ client: FTPClient, offset: UInt64 = 0) async throws -> [UInt8] {
        let stream = client.reader("x", offset: offset)
        defer { stream.close() }
        try stream.open()
        var bytes: [UInt8] = []
        while case let chunk = try await stream.read(upTo: 4096), !chunk.isEmpty { bytes += chunk }
        return bytes
    }

    /// A port of loopback that does not accept connections.
    private final class DeadPort: Sendable {
        /// `unserved` opens connections, and no program serves them.
        enum Kind { case refused, silent, unserved }

        let port: UInt16
        private let descriptors: [CInt]

        init(_ kind: Kind) throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(listener, $0, length)
                    _ = getsockname(listener, $0, &length)
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            var descriptors = [listener]
            if kind == .unserved { listen(listener, 8) }
            if kind == .silent {
                // The queue is full, so that further SYNs are dropped.
                listen(listener, 0)
                for _ in 0..<4 {
                    let filler = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                    withUnsafePointer(to: &address) { pointer in
                        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            _ = connect(filler, $0, length)
                        }
                    }
                    descriptors.append(filler)
                }
            }
            self.descriptors = descriptors
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }

    // MARK: The second way

    /// The port of EPSV cannot be reached: PASV is used at once, and for the rest of the session.
    @Test(arguments: [DeadPort.Kind.refused, .silent])
    private func pasvFollowsAnUnreachablePort(_ kind: DeadPort.Kind) async throws {
        let dead = try DeadPort(kind)
        let server = try CommandServer(hasPassive: true) { $0 == "EPSV" ? "229 (|||\(dead.port)|)" : nil }
        let client = try client(server)
        if kind == .silent { client.options.withLock { $0.turningPoints.extendedPassive = .milliseconds(20) } }
        for _ in 0..<2 { #expect(try await content(client) == Array("hello".utf8)) }
        #expect(
            server.commands.filter { ["EPSV", "PASV", "RETR"].contains($0.prefix(4)) } == [
                "EPSV", "PASV", "RETR x", "PASV", "RETR x",
            ])
    }

    /// Nothing is requested without a data connection, and the session remains usable.
    @Test func aRefusedPortIsReportedAtOnce() async throws {
        let dead = try DeadPort(.refused)
        let server = try CommandServer { line in
            switch line {
            case "EPSV": "229 (|||\(dead.port)|)"
            case "PASV": "227 (127,0,0,1,\(dead.port >> 8),\(dead.port & 0xFF))"
            default: nil
            }
        }
        let client = try client(server)
        for _ in 0..<2 {
            let error = await #expect(throws: StreamError.self) { try await content(client) }
            #expect(error?.isPOSIX(ECONNREFUSED) == true, "\(String(describing: error))")
        }
        #expect(!server.commands.contains { $0.hasPrefix("RETR") })
        #expect(server.commands.count { $0.hasPrefix("USER") } == 1 && client.pool.idleCount == 1)
    }

    /// A server without PASV: the refusal of PASV is not the reason.
    @Test func theFirstFailureIsReportedIfThereIsNoSecondWay() async throws {
        let dead = try DeadPort(.refused)
        let server = try CommandServer { $0 == "EPSV" ? "229 (|||\(dead.port)|)" : nil }
        let error = await #expect(throws: StreamError.self) { try await content(try client(server)) }
        #expect(error?.isPOSIX(ECONNREFUSED) == true && server.commands.last == "PASV")
    }

    /// Over IPv6 there is only EPSV.
    @Test func overIPv6ThereIsNoSecondWay() async throws {
        let dead = try DeadPort(.refused)
        let server = try CommandServer(isIPv6: true) { $0 == "EPSV" ? "229 (|||\(dead.port)|)" : nil }
        let client = try FTPClient(try #require(URL(string: "ftp://[::1]:\(server.port)/")))
        let error = await #expect(throws: StreamError.self) { try await content(client) }
        #expect(error?.isPOSIX(ECONNREFUSED) == true && !server.commands.contains("PASV"))
    }

    // MARK: What the server says

    /// `150`, and then a refusal, while the server's connection or its data is awaited.
    @Test(arguments: [true, false])
    func aRefusalEndsTheWaitForData(_ isPassive: Bool) async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer { line in
            switch line.prefix(4) {
            case "EPRT", "PORT": "200 OK."
            case "RETR", "LIST", "STOR": "150 Here.\r\n425 Cannot connect."
            default: nil
            }
        } maySend: {
            for await _ in held { break }
        }
        let client = try client(server)
        try client.set(.ftp(\.usesPassiveMode), to: isPassive)
        let read = await #expect(throws: StreamError.self) { try await content(client) }
        #expect(read?.domain == .ftp && read?.code == 425, "\(String(describing: read))")
        let listed = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(listed?.code == 425)
        if !isPassive {
            let stream = client.writer("x")
            let written = await #expect(throws: StreamError.self) {
                try stream.open()
                try await stream.writeAll([1])
                try await stream.finish()
            }
            #expect(written?.code == 425)
        }
        // A refusal ends the transfer, not the session.
        #expect(server.commands.count { $0.hasPrefix("USER") } == 1)
        release.finish()
    }

    /// The control connection ends while data is awaited: the transfer can no longer be confirmed.
    @Test func theEndOfTheControlConnectionEndsTheWaitForData() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer { line in
            line.hasPrefix("RETR") ? "150 Here.\(CommandServer.hangUp)" : nil
        } maySend: {
            for await _ in held { break }
        }
        let client = try client(server)
        let error = await #expect(throws: StreamError.self) { try await content(client) }
        #expect((error?.underlying as? FTPError)?.code == .connectionLost, "\(String(describing: error))")
        release.finish()
    }

    /// Once the server has confirmed the transfer, the end of the control connection does not matter.
    @Test func dataMayFollowTheConfirmation() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer { line in
            line.hasPrefix("RETR") ? "150 Here.\r\n226 Done.\(CommandServer.hangUp)" : nil
        } maySend: {
            for await _ in held { break }
        }
        let client = try client(server)
        let stream = client.reader("x")
        try stream.open()
        try await stream.opened()
        let reading = Task { try await stream.read(upTo: 4096) }
        while stream[.ftpLastReply]?.code != 226, !Task.isCancelled { await Task.yield() }
        release.finish()
        #expect(try await reading.value == Array("hello".utf8))
        #expect(try await stream.read(upTo: 4096).isEmpty)
        stream.close()
    }

    /// The server confirms at once and never looks at the data connection, or never opens its own: no listing, and not an empty one.
    @Test(arguments: [true, false], ["226 Done.", "150 Here.\r\n226 Done."])
    func aConfirmationWithoutDataEndsTheWait(_ isPassive: Bool, _ confirmation: String) async throws {
        let dead = try DeadPort(.unserved)
        let server = try CommandServer { line in
            switch line.prefix(4) {
            case "EPSV": "229 (|||\(dead.port)|)"
            case "EPRT": "200 OK."
            case "LIST", "RETR": confirmation
            default: nil
            }
        }
        let client = try client(server)
        client.options.withLock { $0.turningPoints.confirmedData = .milliseconds(20) }
        try client.set(.ftp(\.usesPassiveMode), to: isPassive)
        let listed = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(listed?.sentence.key == "ftp.unserved", "\(String(describing: listed))")
        let read = await #expect(throws: StreamError.self) { try await content(client) }
        #expect((read?.underlying as? FTPError)?.code == .incomplete, "\(String(describing: read))")
    }

    /// MLSD is offered and refused: LIST follows on a data connection of its own.
    @Test func listFollowsARefusedMLSD() async throws {
        let server = try CommandServer(content: Array("-rw-r--r-- 1 a a 5 Mar  4  2019 x\r\n".utf8)) { line in
            line == "FEAT" ? "211-Features\r\n MLST size*;\r\n211 End" : nil
        }
        let client = try client(server)
        for _ in 0..<2 { #expect(try await client.list().map(\.name) == ["x"]) }
        #expect(
            server.commands.filter { ["EPSV", "MLSD", "LIST"].contains($0.prefix(4)) } == [
                "EPSV", "MLSD", "EPSV", "LIST", "EPSV", "LIST",
            ])
    }

    // MARK: Lengths

    /// The data connection sends five bytes.
    @Test(
        arguments: [
            ("213 5", "", 0, nil), ("213 6", "", 0, "ftp.incomplete"), ("213 8", "", 3, nil),
            ("213 9", "", 3, "ftp.incomplete"),
            ("213 2", "", 3, "ftp.offset"), ("550 No.", "(6 bytes)", 0, "ftp.incomplete"),
            ("550 No.", "(5 bytes)", 0, nil),
            ("550 No.", "(6 bytes)", 3, nil), ("213 4", "", 0, nil),
            ("550 No.", "(1,006 Bytes)", 0, "ftp.incomplete"), ("550 No.", "(6 bites)", 0, nil),
        ] as [(String, String, UInt64, String?)])
    func aShortTransferIsAnError(_ size: String, _ text: String, _ offset: UInt64, _ failure: String?) async throws {
        let server = try CommandServer { line in
            switch line.prefix(4) {
            case "SIZE": size
            case "RETR": "150 Here \(text).\r\n226 Done."
            default: nil
            }
        }
        let client = try client(server)
        try client.set(.ftp(\.fetchesResourceInfo), to: true)
        do throws(StreamError) {
            let stream = client.reader("x", offset: offset)
            defer { stream.close() }
            try stream.open()
            while try await !stream.read(upTo: 4096).isEmpty {}
            #expect(failure == nil)
        } catch {
            let cause = error.underlying as? FTPError
            #expect(cause?.code == .incomplete && error.sentence.key == failure)
            // The file is another one now, so that the whole can be transferred instead.
            #expect(cause?.refusesOffset == (failure == "ftp.offset"))
        }
        // The session is in step.
        #expect(client.pool.idleCount == 1)
        #expect(server.commands.contains { $0.hasPrefix("RETR") } == (failure != "ftp.offset"))
    }

    // MARK: The end of sessions

    @Test func closingAClientEndsItsSessions() async throws {
        let server = try CommandServer()
        let client = try client(server)
        _ = try await content(client)
        #expect(client.pool.idleCount == 1)
        await client.close()
        #expect(client.pool.idleCount == 0 && server.commands.last == "QUIT")
        #expect(try await content(client) == Array("hello".utf8))
        #expect(server.commands.count { $0.hasPrefix("USER") } == 2)
    }

    @Test func textModeOfAURL() throws {
        for (url, isText) in [("ftp://h/x;type=a", true), ("ftp://h/x;type=I", false), ("ftp://h/x", false)] {
            #expect(try FTPPath.isText(try #require(URL(string: url))) == isText)
            #expect(try FTPPath(try #require(URL(string: url))) == "x")
        }
    }
}
