import Dispatch
import EventLoops
@_spi(Packages) import FTPStream
import Foundation
import Peers
import Testing

/// The properties of FTP streams: which can be set and read, and when.
struct PropertyTests {
    // Parity: FT-030, FT-031 (pyftpdlib)
    @Test func propertiesTakePrecedenceOverTheURL() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("a", [1])
        func users(_ url: String, _ user: String?, _ password: String?) async throws -> [String] {
            let stream = try ReadStream(ftpURL: #require(URL(string: url)))
            if let user { try stream.set(.ftp(\.userName), to: user) }
            if let password { try stream.set(.ftp(\.password), to: password) }
            try stream.set(.ftp(\.keepsConnection), to: false)
            let count = try server.commands().count
            #expect(try await Style.async.readAll(stream) == [1])
            return try server.commands().dropFirst(count).filter { $0.hasPrefix("USER") }
        }
        #expect(try await users(server.url("files/a"), nil, nil) == ["USER anonymous"])
        #expect(try await users(server.url("files/a", user: "ann:open%20sesame"), nil, nil) == ["USER ann"])
        #expect(try await users(server.url("files/a", user: "bob:wrong"), "ann", "open sesame") == ["USER ann"])
        #expect(try await users(server.url("files/a", user: "ann"), nil, "open sesame") == ["USER ann"])
    }

    // Parity: FT-043, FT-044 (pyftpdlib)
    @Test func propertiesAreSetBeforeOpen() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("a", patterned(100_000))
        let stream = try server.reader("files/a", pool: FTPSessionPool())
        #expect(stream[.ftpResourceSize] == nil && stream[.ftpLastReply] == nil && stream.error == nil)
        #expect(stream[.ftp(\.usesPassiveMode)] == true && stream[.ftp(\.keepsConnection)] == true)
        #expect(stream[.ftp(\.fetchesResourceInfo)] == false && stream[.ftp(\.transferOffset)] == 0)
        #expect(throws: StreamError.self) { try stream.set(.ftpResourceSize, to: 5) }
        try stream.set(.ftp(\.fetchesResourceInfo), to: true)
        try stream.open()
        try await stream.opened()
        #expect(stream[.ftpResourceSize] == 100_000)
        #expect(stream[.remoteAddress]?.port.map(Int.init) == server.port)  // the address of the control connection
        #expect((stream[.nativeDescriptor] ?? -1) >= 0)
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.userName), to: "bob") }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.password), to: "x") }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.usesPassiveMode), to: false) }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.transferOffset), to: 1) }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.security), to: .required) }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.proxy), to: FTPProxy(host: "h")) }
        #expect(stream.error == nil)
        for try await _ in stream.chunks() {}
        #expect(stream[.ftpLastReply]?.code == 226)
        stream.close()
    }

    /// The size is queried before the transfer if it is requested, and only then.
    // Parity: FT-036 (proftpd)
    @Test(arguments: [false, true])
    func theSizeIsQueriedOnRequest(_ isWanted: Bool) async throws {
        let server = try await ServerKind.proftpd.started()
        try server.write("a", patterned(5000))
        let stream = try server.reader("files/a", pool: FTPSessionPool())
        try stream.set(.ftp(\.fetchesResourceInfo), to: isWanted)
        #expect(try await Style.async.readAll(stream).count == 5000)
        let verbs = try server.commands().map { $0.prefix(4) }
        #expect(verbs.contains("SIZE") == isWanted)
        if isWanted { #expect(try #require(verbs.firstIndex(of: "SIZE")) < #require(verbs.firstIndex(of: "RETR"))) }
        #expect(stream[.ftpResourceSize] == 5000)  // otherwise from the text of the 150 reply
    }

    // Parity: FT-007 (pyftpdlib)
    @Test func eventsComeInOrder() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("a", patterned(1000))
        let events = Locked<[StreamEvent]>([])
        let stream = try server.reader("files/a", pool: FTPSessionPool())
        let commands = Locked<[String]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            stream.setClient(.all) { stream, event in
                events.withLock { if $0.last != event { $0.append(event) } }
                switch event {
                case .openCompleted: commands.withLock { $0 = (try? server.commands()) ?? [] }
                case .hasBytesAvailable:
                    var buffer = [UInt8](repeating: 0, count: 100)
                    _ = try? stream.tryRead(into: &buffer)
                case .endEncountered: continuation.resume()
                default: break
                }
            }
            stream.schedule(on: .queue(DispatchQueue(label: "ftp.events")))
            do throws(StreamError) { try stream.open() } catch { Issue.record(error) }
        }
        #expect(events.withLock { $0 } == [.openCompleted, .hasBytesAvailable, .endEncountered])
        // The stream is open when the transfer begins, not already after the login.
        #expect(commands.withLock { $0.contains { $0.hasPrefix("RETR") } })
        stream.close()
    }

    /// Closing, removing the client and unscheduling, in this order, a thousand times.
    // Parity: FT-017 (pyftpdlib)
    @Test func aThousandStreamsAreClosed() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("a", [1])
        let pool = FTPSessionPool()
        let queue = DispatchQueue(label: "ftp.clean")
        for round in 0..<1000 {
            let stream = try server.reader("files/a", pool: pool)
            stream.setClient(.all) { _, _ in }
            stream.schedule(on: .queue(queue))
            try stream.open()
            if round % 20 == 0 { _ = try await stream.read(upTo: 10) }
            stream.close()
            stream.setClient(.all, nil)
            stream.unschedule(from: .queue(queue))
        }
        pool.drain()
    }

    /// A directory without permission to create it, and one that exists.
    // Parity: FT-061, FT-062 (proftpd)
    @Test func refusedDirectoriesAreErrors() async throws {
        let server = try await ServerKind.proftpd.started()
        for path in ["files/new/", "files/"] {
            let stream = try WriteStream(ftpURL: url(server.url(path)))  // anonymous users may only read
            try stream.set(.ftp(\.pool), to: FTPSessionPool())
            await #expect(throws: StreamError.self) {
                try stream.open()
                try await stream.opened()
            }
            #expect(stream.error?.domain == .ftp && (stream.error?.code == 550 || stream.error?.code == 521))
        }
    }

    // Parity: FT-064 (pyftpdlib)
    @Test(arguments: [FTPListingCommand.list, .facts])
    func aListingOfTenThousandEntries(_ command: FTPListingCommand) async throws {
        let server = try await ServerKind.pyftpdlib.started()
        for number in 0..<10_000 { try server.write("\(number)", []) }
        let client = try server.client()
        try client.set(.ftp(\.listingCommand), to: command)
        #expect(Set(try await client.list("files").map(\.name)).count == 10_000)
        // As with CFFTPCreateParsedResourceListing: a small buffer, and the unparsed rest moves to its front.
        let stream = client.lister("files")
        try stream.open()
        var parser = ListingParser(ListingOptions(now: 1_800_000_000))
        var rest: [UInt8] = []
        var count = 0
        while true {
            let piece = try await stream.read(upTo: 64)
            if piece.isEmpty { break }
            rest += piece
            while true {
                let step = try parser.parse(rest.span.bytes)
                if step.consumed == 0 { break }
                rest.removeFirst(step.consumed)
                if step.entry != nil { count += 1 }
            }
        }
        stream.close()
        #expect(count == 10_000 && rest.isEmpty)
        // Leaving the sequence early aborts only the listing.
        for try await entry in client.entries("files") {
            #expect(!entry.name.isEmpty)
            break
        }
        #expect(try await client.list("files").count == 10_000)
    }

    /// FT-010: fewer bytes are accepted than offered; the caller keeps the rest at the front of its buffer.
    // Parity: FT-010
    @Test func bytesThatAreNotAcceptedStayWithTheCaller() async throws {
        let piece = patterned(1 << 20)
        let (mayRead, isRead) = (Signal(), Signal())
        let received = Locked<[UInt8]>([])
        let data = try ScriptedServer { connection throws(PeerError) in
            try connection.wait(for: mayRead)
            let all = try connection.readToEnd()
            received.withLock { $0 = all }
            isRead.fire()
        }
        let server = try server(for: data, confirmingAfter: isRead)
        defer { server.stop() }
        let stream = try WriteStream(ftpURL: url("ftp://127.0.0.1:\(server.port)/x"))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        try stream.open()
        try await stream.opened()
        var buffer = piece
        var taken: [UInt8] = []
        var isThrottled = false
        while !buffer.isEmpty {
            if let count = try stream.tryWrite(buffer) {
                #expect(count > 0 && count <= buffer.count)
                taken += buffer[..<count]
                buffer.removeFirst(count)
                if !isThrottled { buffer += piece.prefix(count) }
                try #require(taken.count < 64 << 20)
            } else {
                // The server does not read: only as many bytes are accepted as the sockets hold.
                if !isThrottled { mayRead.fire() }
                isThrottled = true
                await Task.yield()
            }
        }
        try await stream.finish()
        stream.close()
        #expect(isThrottled && received.withLock { $0 } == taken)
    }

    /// FT-011: an upload is finished when the server confirms it, not when all data is sent.
    // Parity: FT-011
    @Test func anUploadIsFinishedByTheFinalReply() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        let mayConfirm = Signal()
        let server = try server(for: data, confirmingAfter: mayConfirm)
        defer { server.stop() }
        let stream = try WriteStream(ftpURL: url("ftp://127.0.0.1:\(server.port)/x"))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        try stream.open()
        try await stream.writeAll([1, 2, 3])
        try await until {
            let isFinished = try stream.tryFinish()
            #expect(!isFinished)
            return data.recordings.first?.ending == .finished
        }
        #expect(data.recordings.first?.received == [1, 2, 3] && stream[.ftpLastReply]?.code == 150)
        mayConfirm.fire()
        try await stream.finish()
        #expect(stream[.ftpLastReply]?.code == 226)
        stream.close()
    }

    /// A server that accepts any login and one upload, and sends the final reply after a signal.
    private func server(for data: ScriptedServer, confirmingAfter signal: Signal) throws -> ScriptedServer {
        let dataPort = data.port
        return try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK.", "229 (|||\(dataPort)|)", "150 Go on."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.wait(for: signal)
            try connection.send("226 Done.\r\n")
            try connection.readToEnd()
        }
    }

    /// The data connection is open and no data comes: an error, if a limit was set.
    // Parity: FT-045
    @Test func aStalledTransferEndsAtItsLimit() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in
            try connection.send([1, 2, 3])
            try connection.readToEnd()
        }
        let dataPort = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK.", "229 (|||\(dataPort)|)", "150 Here."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.readToEnd()
        }
        let client = try FTPClient(url("ftp://127.0.0.1:\(server.port)/"))
        try client.set(.readTimeout, to: .milliseconds(100))
        let stream = client.reader("x")
        let error = await #expect(throws: StreamError.self) { try await Style.async.readAll(stream) }
        #expect(error?.isPOSIX(ETIMEDOUT) == true)
    }

    /// A kept session looks alive and fails at the next command: the job is repeated on a new session, only in this case.
    @Test func aSessionThatEndsAtItsNextCommandIsReplaced() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send([1, 2, 3]) }
        let dataPort = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK.", "229 (|||\(dataPort)|)", "150 Here.\r\n226 Done."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.read(until: "\r\n")
        }
        let client = try FTPClient(url("ftp://127.0.0.1:\(server.port)/"))
        #expect(try await Style.async.readAll(client.reader("a")) == [1, 2, 3])
        #expect(client.pool.idleCount == 1)
        #expect(try await Style.async.readAll(client.reader("a")) == [1, 2, 3])
        #expect(server.recordings.count == 2)
    }
}
