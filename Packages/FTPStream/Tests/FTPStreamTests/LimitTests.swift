import Foundation
import Testing

@_spi(Packages) @testable import FTPStream

/// The limits of what a server can make the client wait for, read and keep.
struct LimitTests {
    private func client(_ server: CommandServer, isIPv6: Bool = false) throws -> FTPClient {
        let host = isIPv6 ? "[::1]" : "127.0.0.1"
        return try FTPClient(try #require(URL(string: "ftp://\(host):\(server.port)/")))
    }

    /// The entries of one read are as many as a server likes. Other work of the loop does not wait for all of them.
    @Test func manyEntriesOfOneReadShareTheLoop() async throws {
        let loop = EventLoop(name: "listing")
        defer { loop.shutdown() }
        let line = Array("a\n".utf8)
        let all = ReadStream.chunkSize / line.count
        let count = try await withNetworkExecutor(loop) { () async throws(StreamError) in
            let stream = ReadStream(bytes: Array(repeatElement(line, count: all).joined()), loop: loop)
            var entries = FTPEntries.Iterator(stream, ListingOptions(now: 0, format: .names), nil)
            _ = try await entries.next()
            let other = OneShot<Void>()
            Task(executorPreference: loop) { other.provide(()) }
            var count = 1
            while other.value == nil, try await entries.next() != nil { count += 1 }
            return count
        }
        #expect(count < all)
    }

    @Test func aPreliminaryReplyDoesNotExtendTheTimeOfACommand() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer { line in
            guard line == "STAT" else { return nil }
            for await _ in held { break }
            return "120 Wait."
        }
        var options = FTPOptions()
        options.pool = FTPSessionPool()
        let location = try FTPLocation(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        var conversation = try FTPConversation(location, .raw(FTPCommand("STAT")), options, loop: .shared) {}
        defer { conversation.close() }
        while server.commands.last != "STAT", !Task.isCancelled {
            _ = try conversation.advance()
            await Task.yield()
        }
        let deadline = try #require(conversation.timers.deadline)
        release.yield()
        while conversation.lastReply?.code != 120, !Task.isCancelled {
            _ = try conversation.advance()
            await Task.yield()
        }
        #expect(conversation.timers.deadline == deadline)
    }

    @Test func aFloodOfPreliminaryRepliesEndsTheCommand() async throws {
        let server = try CommandServer { line in
            line == "STAT" ? Array(repeating: "120 Wait.", count: 1000).joined(separator: "\r\n") : nil
        }
        let client = try client(server)
        let error = await #expect(throws: StreamError.self) { try await client.command(FTPCommand("STAT")) }
        #expect((error?.underlying as? FTPError)?.sentence.key == "ftp.preliminaries")
        #expect(client.pool.idleCount == 0)
    }

    // MARK: Listings

    private static let facts = Array((0..<100).map { "type=file;size=1; \($0)\r\n" }.joined().utf8)

    @Test func aListingIsGatheredUpToItsLimits() async throws {
        let server = try CommandServer(content: Self.facts)
        let client = try client(server)
        let count = Self.facts.count
        let entries = try await client.listing("", memory: 1 << 20, bytes: count).entries
        #expect(entries.count == 100)
        let memory = entries.reduce(0) { $0 + $1.memorySize + MemoryLayout<ListingEntry>.stride }
        #expect(try await client.listing("", memory: memory, bytes: count).entries == entries)
        let many = await #expect(throws: StreamError.self) {
            _ = try await client.listing("", memory: memory - 1, bytes: count)
        }
        #expect(many?.sentence.key == "ftp.entries")
        let long = await #expect(throws: StreamError.self) {
            _ = try await client.listing("", memory: memory, bytes: count - 1)
        }
        #expect(long?.sentence.key == "ftp.listingLength")
        var found: [ListingEntry] = []
        for try await entry in client.entries("") { found.append(entry) }
        #expect(found == entries)
    }

    /// Typical lines of large directories in the formats of common servers.
    @Test(arguments: [
        "-rw-r--r--   1 owner    group      123456 Jan 01 12:00 a-name-of-30-bytes-or-so-%d.txt",
        "modify=20240101120000;perm=adfrw;size=123456;type=file;unique=801U%d;UNIX.group=1000;UNIX.groupname=ftp;"
            + "UNIX.mode=0644;UNIX.owner=1000;UNIX.ownername=ftp; file%d.txt",
    ])
    func fiftyThousandEntriesFitByDefault(_ format: String) throws {
        let line = format.replacing("%d", with: "1234567")
        let entry = try #require(try ListingParser.entries(of: Array(line.utf8), ListingOptions(now: 0)).first)
        #expect(50_000 * (entry.memorySize + MemoryLayout<ListingEntry>.stride) <= FTPClient.maximumListMemory)
    }

    /// Lines that are no entries count, too; otherwise the client would read them forever.
    @Test func linesWithoutEntriesCountTowardsTheLimit() async throws {
        let server = try CommandServer(content: Array(String(repeating: "total 0\r\n", count: 1000).utf8))
        let client = try client(server)
        let error = await #expect(throws: StreamError.self) { try await client.listing("", memory: 10, bytes: 1000) }
        #expect(error?.sentence.key == "ftp.listingLength")
    }

    @Test func pendingDirectoriesAreBoundedInMemory() {
        let root = TreeDirectory(remote: "", local: [], depth: 0)
        let one = root.child("a", Array("a".utf8))
        var pending = PendingDirectories(root, limit: 3 * one.size)
        let first = pending.take()
        let added = [pending.add(one), pending.add(one), pending.add(one)]
        var long = one
        long.remote.bytes += [UInt8](repeating: 0x61, count: 3 * one.size + root.size)
        let isRoom = pending.add(long)
        let taken = [pending.take(), pending.take(), pending.take(), pending.take()]
        let isRoomLater = [pending.add(long), pending.add(one)]
        #expect(first == root && added == [true, true, true] && !isRoom)
        #expect(taken == [one, one, one, nil] && isRoomLater == [false, true])
    }

    /// A thousand long refusals must not take more memory than their count allows.
    @Test func theReportOfSkippedEntriesIsShortened() async throws {
        let name = String(repeating: "n", count: 200)
        let server = try CommandServer(content: Array("type=file;size=1; \(name)\r\n".utf8)) { line in
            guard line.hasPrefix("RETR") else { return nil }
            let more = String(repeating: "550-more\r\n", count: 1000)
            return more + "550 x" + String(repeating: "ö", count: 1000)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let report = try await client(server).download("d", to: folder.path)
        // No part of a UTF-8 sequence remains.
        let text = "x" + String(repeating: "ö", count: (FTPTreeReport.maximumReplyLength - 1) / 2)
        let reply = FTPReply(code: 550, lines: [Array(text.utf8)])
        #expect(report.skipped == [.init(path: "d/\(name)", reason: .refused(reply))])

        var long = FTPTreeReport()
        long.skip("x" + String(repeating: "ö", count: 5000), .tooDeep)
        let path = try #require(long.skipped.first?.path)
        #expect((FTPTreeReport.maximumPathLength - 1...FTPTreeReport.maximumPathLength).contains(path.utf8.count))
        #expect(path.hasPrefix("xöö") && path.hasSuffix("ö…"))
    }

    // MARK: Waits

    @Test func streamsThatTheLibraryReadsAndWritesHaveATimeLimit() throws {
        let client = try FTPClient(try #require(URL(string: "ftp://h/")))
        #expect(client.reader("x")[.readTimeout] == nil)
        #expect(client.limited(client.reader("x"))[.readTimeout] == FTPTimeLimits.idleData)
        #expect(client.limited(client.writer("x"))[.writeTimeout] == FTPTimeLimits.idleData)
        #expect(client.entries("x").makeAsyncIterator().stream[.readTimeout] == FTPTimeLimits.idleData)
        try client.set(.readTimeout, to: .seconds(1))
        try client.set(.writeTimeout, to: .zero)
        #expect(client.limited(client.reader("x"))[.readTimeout] == .seconds(1))
        #expect(client.limited(client.writer("x"))[.writeTimeout] == .zero)
    }

    /// The data connection is open, and no data arrives.
    @Test func aListingThatStallsEndsByItsLimit() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer(maySend: { for await _ in held { break } })
        let client = try client(server)
        try client.set(.readTimeout, to: .milliseconds(20))
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(error?.isPOSIX(ETIMEDOUT) == true)
        release.finish()
    }

    // MARK: IPv6

    // Parity: FT-054
    @Test(arguments: [true, false])
    func overIPv6TheRefusalOfEPSVAndEPRTIsShown(_ isPassive: Bool) async throws {
        let server = try CommandServer(isIPv6: true) { line in
            line.hasPrefix("EPSV") || line.hasPrefix("EPRT") ? "522 Use (1)." : nil
        }
        let client = try client(server, isIPv6: true)
        try client.set(.ftp(\.usesPassiveMode), to: isPassive)
        for _ in 0..<2 {
            let error = await #expect(throws: StreamError.self) { try await client.list() }
            #expect(error?.domain == .ftp && error?.code == 522)
            #expect((error?.underlying as? FTPError)?.reply?.text == "Use (1).")
        }
        #expect(!server.commands.contains { $0.hasPrefix("PASV") || $0.hasPrefix("PORT") })
        #expect(server.commands.count { $0.hasPrefix("USER") } == 1)
    }

    /// `::ffff:127.0.0.1` is IPv4: PASV has a meaning there.
    @Test func anIPv4MappedAddressIsNotIPv6() async throws {
        let server = try CommandServer { $0.hasPrefix("EPSV") ? "500 What?" : nil }
        let client = try FTPClient(#require(URL(string: "ftp://[::ffff:127.0.0.1]:\(server.port)/")))
        await #expect(throws: StreamError.self) { try await client.list() }
        #expect(server.commands.contains("PASV"))
    }

    /// The server behind a proxy on IPv6 may be one on IPv4.
    @Test func behindAProxyTheServersFamilyIsUnknown() async throws {
        let server = try CommandServer(isIPv6: true, isProxied: true) { $0.hasPrefix("EPSV") ? "522 Use (1)." : nil }
        let client = try FTPClient(#require(URL(string: "ftp://ftp.test/")))
        try client.set(.socksProxy, to: SOCKSProxy(host: "::1", port: server.port))
        await #expect(throws: StreamError.self) { try await client.list() }
        #expect(server.commands.contains("PASV"))
    }

    // MARK: Commands of the caller

    @Test func aCommandThatChangesTheSessionChangesNoOtherCall() async throws {
        let server = try CommandServer { line in line == "STAT" ? "211 Fine." : nil }
        let client = try client(server)
        func logins() -> Int { server.commands.count { $0.hasPrefix("USER") } }
        _ = try await client.command(FTPCommand("STAT"))
        #expect(client.pool.idleCount == 1)
        for (number, text) in ["CWD sub", "TYPE A", "REST 5", "USER bob"].enumerated() {
            let words = text.split(separator: " ").map(String.init)
            _ = try await client.command(FTPCommand(words[0], argument: words[1]))
            #expect(client.pool.idleCount == 0, "\(text)")
            _ = try await client.command(FTPCommand("STAT"))
            #expect(logins() == number + 2 + (number == 3 ? 1 : 0), "\(text)")
        }
    }

    // MARK: Where a conversation waits

    /// A watcher that counts how often it has fired.
    private final class EdgeCounter: Watcher, @unchecked Sendable {
        // Unchecked only because the superclass is: its state is behind a lock.
        private let fired = Locked(0)

        var count: Int { fired.withLock { $0 } }

        override func fire() {
            fired.withLock { $0 += 1 }
        }
    }

    /// A session that is kept has no waiter of the stream before, and neither does a stream that has ended.
    @Test func nothingIsRegisteredAtASessionThatIsKept() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer(maySend: { for await _ in held { break } })
        let location = try FTPLocation(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/x")))
        var options = FTPOptions()
        let pool = FTPSessionPool()
        options.pool = pool
        let transport = FTPTransport.reading(location.path, at: location, options, loop: .shared)
        let stream = ReadStream(transport: transport)
        try stream.open()
        try await stream.opened()
        let reading = Task { try await stream.read(upTo: 4096) }
        // The data, and the server's confirmation or refusal.
        while transport.watchedPoints.isEmpty, !Task.isCancelled { await Task.yield() }
        let points = transport.watchedPoints
        #expect(points.allSatisfy { $0.isRegistered(.reader, transport) })
        release.finish()
        #expect(try await reading.value == Array("hello".utf8))
        #expect(try await stream.read(upTo: 4096).isEmpty)
        #expect(pool.idleCount == 1)
        // A waiter that comes late is signalled at once.
        transport.callerWillWait(watchedBy: nil)
        #expect(transport.watchedPoints.isEmpty && !points.contains { $0.isRegistered(.reader, transport) })
        stream.close()
        pool.drain()
    }

    /// Connections from other hosts to the port of a data connection do not hold up the turn of the loop.
    @Test func moreForeignConnectionsAreClosedInTheNextTurn() async throws {
        let (held, release) = AsyncStream<Void>.makeStream()
        let server = try CommandServer { line in
            guard line.hasPrefix("PORT") || line.hasPrefix("EPRT") else { return nil }
            for await _ in held { break }
            return "200 OK."
        }
        var options = FTPOptions()
        options.pool = FTPSessionPool()
        options.usesPassiveMode = false
        let location = try FTPLocation(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let wake = try await Task(executorPreference: EventLoop.shared) { [options] in
            var conversation = try FTPConversation(location, .list([], .list), options, loop: .shared) {}
            defer { conversation.close() }
            while conversation.dataConnection.listener == nil, !Task.isCancelled {
                _ = try conversation.advance()
                await Task.yield()
            }
            let address = try #require(conversation.dataConnection.listener?.localAddress)
            var foreign: [Socket] = []
            for _ in 0..<2 {
                let socket = try Socket(boundTo: .ip(.v4(IPv4Address(127, 0, 0, 2)), port: 0), .stream)
                try await socket.connect(to: address)
                foreign.append(socket)
            }
            // The rest of this closure is one turn of the loop.
            let control = try #require(conversation.control)
            var connection = conversation.dataConnection
            let readiness = try connection.accept(of: control, rejecting: 2, &conversation.deferred)
            #expect(readiness?.interest == .readable)
            let waitPoint = try #require(readiness).point
            let watcher = EdgeCounter()
            defer { waitPoint.unwatch(.reader, watcher) }
            return waitPoint.watch(.reader, for: .readable, with: watcher)
        }.value
        #expect(wake == nil)
        release.finish()
        withExtendedLifetime(server) {}
    }
}
