import Foundation
import Testing

@_spi(Packages) @testable import FTPStream

/// Each option changes what a client does. An option without a row here fails the tests.
struct OptionTests {
    /// A value of one option, and a line of the outcome that occurs only with it.
    private struct Row: Sendable {
        var mark: String
        /// Sets the option; the server is at the port.
        var change: @Sendable (FTPClient, _ port: UInt16) throws -> Void
        var answer: CommandServer.Answer = { _ in nil }
        var maySend: @Sendable () async -> Void = {}

        init<Value: Sendable>(_ mark: String, _ property: StreamProperty<Value>, _ value: Value) {
            self.mark = mark
            change = { client, _ in try client.set(property, to: value) }
        }

        init(_ mark: String, _ change: @escaping @Sendable (FTPClient, UInt16) throws -> Void) {
            self.mark = mark
            self.change = change
        }

        static let usual = Row("") { _, _ in }
    }

    /// What the server and the caller observe in a download, a listing and an upload.
    private func outcome(_ row: Row) async throws -> [String] {
        let server = try CommandServer(answer: row.answer, maySend: row.maySend)
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        try row.change(client, server.port)
        var lines: [String] = []
        do throws(StreamError) {
            let input = client.reader("x")
            try input.open()
            while try await !input.read(upTo: 4096).isEmpty {}
            input.close()
            _ = try await client.list("")
            let output = client.writer("y")
            try output.open()
            try await output.writeAll([1, 2, 3])
            try await output.finish()
            output.close()
        } catch {
            lines.append("error \(error.domain) \(error.code)")
        }
        lines.append("idle \(client.pool.idleCount)")
        lines.append("first \(server.commands.first { $0.hasPrefix("TYPE") } ?? "no TYPE")")
        return lines + server.peers.map { "from \($0)" } + server.commands
    }

    private static let rows: [String: Row] = {
        var rows: [String: Row] = [
            "connection": Row("from 127.0.0.2", .localAddress, .ip(IPAddress("127.0.0.2")!, port: 0)),
            "userName": Row("USER bob", .ftp(\.userName), "bob"),
            "password": Row("PASS secret", .ftp(\.password), "secret"),
            "account": Row("ACCT books", .ftp(\.account), "books"),
            "usesPassiveMode": Row("error ftp 502", .ftp(\.usesPassiveMode), false),
            "passiveModeDefault": Row("error ftp 502", .ftp(\.passiveModeDefault), false),
            "fetchesResourceInfo": Row("SIZE x", .ftp(\.fetchesResourceInfo), true),
            "keepsConnection": Row("idle 0", .ftp(\.keepsConnection), false),
            "transfersText": Row("first TYPE A", .ftp(\.transfersText), true),
            "appends": Row("APPE y", .ftp(\.appends), true),
            "transferOffset": Row("REST 3", .ftp(\.transferOffset), 3),
            "security": Row("AUTH TLS", .ftp(\.security), .preferred),
            "proxy": Row("USER anonymous@127.0.0.1") { client, port in
                try client.set(.ftp(\.proxy), to: FTPProxy(host: "127.0.0.1", port: port))
            },
            "pool": Row("idle 0", .ftp(\.pool), FTPSessionPool(limits: .init(total: 0))),
            "listingCommand": Row("NLST", .ftp(\.listingCommand), .names),
            "replyTimeout": Row("error posix 110", .ftp(\.replyTimeout), .milliseconds(20)),
            "keepAlive": Row("NOOP", .ftp(\.keepAlive), .milliseconds(1)),
        ]
        rows["account"]?.answer = { $0.hasPrefix("USER") ? "332 Account?" : nil }
        rows["replyTimeout"]?.answer = { _ in
            try? await OneShot<Void>().value()  // cancelled with the server
            return nil
        }
        // The data comes only after a NOOP.
        let (held, release) = AsyncStream<Void>.makeStream()
        let isOpen = Locked(false)
        rows["keepAlive"]?.maySend = { for await _ in held { break } }
        rows["keepAlive"]?.answer = { line in
            guard !isOpen.withLock({ $0 }) else { return nil }
            if line.hasPrefix("RETR") { return "150 Here." }
            guard line == "NOOP" else { return nil }
            isOpen.withLock { $0 = true }
            release.finish()
            return "200 OK.\r\n226 Done."
        }
        return rows
    }()

    @Test(arguments: rows.keys.sorted())
    func anOptionChangesTheOutcome(_ name: String) async throws {
        let row = try #require(Self.rows[name])
        let (usual, changed) = (try await outcome(.usual), try await outcome(row))
        #expect(!usual.contains { $0.hasPrefix(row.mark) }, "\(usual)")
        #expect(changed.contains { $0.hasPrefix(row.mark) }, "\(changed)")
    }

    @Test func everyOptionHasARow() {
        let fields = Set(Mirror(reflecting: FTPOptions()).children.compactMap(\.label))
        // Descriptions do not show the password and the account; the turning points are not public.
        #expect(
            Set(Self.rows.keys)
                == fields.subtracting(["secrets", "turningPoints"]).union(["account", "password"]))
    }

    @Test func noDescriptionShowsAPassword() {
        var options = FTPOptions()
        options.userName = "ann"
        options.password = "hunter2"
        options.account = "hunter3"
        options.proxy = FTPProxy(host: "p", userName: "pat", password: "hunter4")
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(options)", String(reflecting: options), "\(Optional(options) as Any)", dumped] {
            #expect(text.contains("ann") && !text.contains("hunter"), "\(text)")
        }
    }

    @Test func aClientHasTheOptionsThatItIsMadeWith() throws {
        let url = try #require(URL(string: "ftp://127.0.0.1/"))
        var options = FTPOptions()
        options.pool = FTPSessionPool()
        options.userName = "bob"
        options.transferOffset = 3
        options.passiveModeDefault = false
        let client = try FTPClient(url, options: options)
        #expect(client.pool === options.pool)
        let (reader, writer) = (client.reader("x"), client.writer("x", offset: 5))
        #expect(reader[.ftp(\.userName)] == "bob" && writer[.ftp(\.userName)] == "bob")
        #expect(reader[.ftp(\.transferOffset)] == 3 && writer[.ftp(\.transferOffset)] == 5)
        // The mode that applies, whether it was set or not.
        #expect(reader[.ftp(\.usesPassiveMode)] == false)
        // A client without options has a pool of its own, and nil restores the shared one.
        let usual = try FTPClient(url)
        #expect(usual.pool !== FTPSessionPool.shared && usual.pool !== client.pool)
        try usual.set(.ftp(\.pool), to: nil)
        #expect(usual.pool === FTPSessionPool.shared)
        for change in [{ $0.userName = "a\r\nDELE x" }, { $0.password = "\n" }, { $0.account = "\0" }]
            as [(inout FTPOptions) -> Void]
        {
            var wrong = options
            change(&wrong)
            let error = #expect(throws: StreamError.self) { try FTPClient(url, options: wrong) }
            #expect((error?.underlying as? FTPError)?.code == .badArgument)
        }
    }

    // MARK: Options within options

    /// The commands of a login at a server that accepts everything.
    private func logIn(_ change: (inout FTPOptions) -> Void) throws -> [String] {
        var options = FTPOptions()
        options.security = FTPSecurity(control: .required, data: .preferred)
        change(&options)
        let location = try FTPLocation(try #require(URL(string: "ftp://h/")))
        let key = try FTPSessionKey(options, at: location, loop: .shared)
        var machine = FTPMachine(key.login)
        var action = machine.begin()
        var lines = ["to \(key.proxy?.host ?? key.host) \(key.proxy?.port ?? key.port)"]
        if key.configuration.minimumVersion == .tls13 { lines.append("TLS 1.3") }
        while true {
            switch action {
            case .send(let command):
                lines.append(String(decoding: command.bytes.dropLast(2), as: UTF8.self))
                let code =
                    ["USER": 331, "AUTH": 234, "FEAT": 500][command.verb] ?? (command.verb == "PASS" ? 230 : 200)
                action = try machine.receive(FTPReply(code: code, lines: [[]]))
            case .awaitReply: action = try machine.receive(FTPReply(code: 220, lines: [[]]))
            case .startTLS: action = try machine.didStartTLS()
            case .endTLS: action = machine.didEndTLS()
            default: return lines
            }
        }
    }

    @Test func eachPartOfSecurityAndProxyChangesTheLogin() throws {
        let proxy = FTPProxy(host: "p", port: 2121, userName: "pat", password: "pw")
        let rows: [String: (mark: String, change: (inout FTPOptions) -> Void)] = [
            "control": ("USER", { $0.security = .off }),
            "data": ("PROT C", { $0.security?.data = .off }),
            "clearsControl": ("CCC", { $0.security?.clearsControl = true }),
            "configuration": ("TLS 1.3", { $0.security?.configuration.minimumVersion = .tls13 }),
            "host": ("to p", { $0.proxy = FTPProxy(host: "p") }),
            "port": ("to h2 2121", { $0.proxy = FTPProxy(host: "h2", port: 2121) }),
            "userName": ("USER pat", { $0.proxy = proxy }),
            "password": ("PASS pw", { $0.proxy = proxy }),
        ]
        let usual = try logIn { _ in }
        for (name, row) in rows {
            let changed = try logIn(row.change)
            if name == "control" {
                #expect(changed[1].hasPrefix(row.mark) && !usual[1].hasPrefix(row.mark))
            } else {
                #expect(
                    changed.contains { $0.hasPrefix(row.mark) } && !usual.contains { $0.hasPrefix(row.mark) }, "\(name)"
                )
            }
        }
        let fields = [Mirror(reflecting: FTPSecurity.off), Mirror(reflecting: proxy)].flatMap(\.children)
        // The mirror of a proxy omits the password.
        #expect(Set(rows.keys) == Set(fields.compactMap(\.label)).union(["password"]))
    }

    /// The local file exists already; the listing has the same bytes as the file.
    @Test func eachOptionOfTreesChangesTheTransfer() async throws {
        let line = Array("-rw-r--r--   1 ann      staff          58 Mar  4  2019 f\r\n".utf8)
        #expect(line.count == 58)
        func outcome(_ options: FTPTreeOptions) async throws -> (FTPTreeReport, retrieves: Bool, Date?) {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try Data(line).write(to: folder.appendingPathComponent("f"))
            try Data(line).write(to: folder.appendingPathComponent("extra"))
            let server = try CommandServer(content: line) { $0 == "MDTM d/f" ? "213 20190304050607" : nil }
            let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
            let report = try await client.download("d", to: folder.path, options)
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent("f").path)
            #expect(
                FileManager.default.fileExists(atPath: folder.appendingPathComponent("extra").path) != options.deletes)
            return (
                report, server.commands.contains { $0.hasPrefix("RETR") }, attributes[.modificationDate] as? Date
            )
        }
        let reported = Locked<[FTPTreeProgress]>([])
        var options = FTPTreeOptions()
        options.progress = { progress in reported.withLock { $0.append(progress) } }
        let old = Date(timeIntervalSince1970: 1_551_675_967)
        var (report, retrieves, date) = try await outcome(options)
        #expect(date.map { $0 > old } == true && report.deleted == 0)
        #expect(report.files == 1 && report.unchanged == 0 && retrieves)
        #expect(reported.withLock { $0.map(\.count) }.last == 58)
        options.resumes = true
        (report, retrieves, date) = try await outcome(options)
        #expect(report.files == 0 && report.unchanged == 1 && !retrieves)
        options.resumes = false
        options.keepsDates = true
        (report, retrieves, date) = try await outcome(options)
        #expect(date == old && report.datesLost == 0 && retrieves)
        options.onlyNewer = true
        (report, retrieves, date) = try await outcome(options)
        #expect(report.files == 0 && report.unchanged == 1 && !retrieves)
        options.deletes = true
        (report, retrieves, date) = try await outcome(options)
        #expect(report.deleted == 1)
        // severalSessionsTransferATree() is about `connections`, and TreeTests about `permitsHiddenNames`.
        #expect(
            Mirror(reflecting: options).children.compactMap(\.label).sorted() == [
                "connections", "deletes", "keepsDates", "onlyNewer", "permitsHiddenNames", "progress", "resumes",
            ])
    }

    /// A name of the same characters in other bytes is another file's.
    @Test func deletesFilesWithEquivalentNames() async throws {
        let line = Array("-rw-r--r--   1 ann      staff          58 Mar  4  2019 \u{E9}\r\n".utf8)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let descriptor = open(folder + "/e\u{301}", O_CREAT | O_WRONLY, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        let server = try CommandServer(content: line) { _ in nil }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        var options = FTPTreeOptions()
        options.deletes = true
        let report = try await client.download("d", to: folder, options)
        #expect(report.deleted == 1 && report.files == 1)
        #expect(access(folder + "/e\u{301}", F_OK) != 0 && access(folder + "/\u{E9}", F_OK) == 0)
    }

    /// The server answers no RETR before two sessions have logged in.
    @Test func severalSessionsTransferATree() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = ["f", "g"].map { "-rw-r--r--   1 ann      staff         116 Mar  4  2019 \($0)\r\n" }.joined()
        let logins = Locked(0)
        let bothLoggedIn = OneShot<Void>()
        let server = try CommandServer(content: Array(lines.utf8)) { command in
            if command.hasPrefix("USER"),
                logins.withLock({
                    $0 += 1
                    return $0 == 2
                })
            {
                bothLoggedIn.provide(())
            }
            if command.hasPrefix("RETR") { try? await bothLoggedIn.value() }
            return nil
        }
        var options = FTPTreeOptions()
        options.connections = 2
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let report = try await client.download("d", to: folder.path, options)
        #expect(report.files == 2 && server.commands.count { $0.hasPrefix("USER") } == 2)
    }

    /// A pool keeps as many sessions as its limits allow.
    @Test func eachLimitOfAPoolChangesWhatItKeeps() async throws {
        let rows: [String: (limits: FTPSessionPool.Limits, kept: Int)] = [
            "perServer": (.init(perServer: 1), 1), "total": (.init(total: 1), 1), "idle": (.init(idle: .zero), 0),
        ]
        func kept(_ limits: FTPSessionPool.Limits) async throws -> Int {
            let server = try CommandServer()
            let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
            try client.set(.ftp(\.pool), to: FTPSessionPool(limits: limits))
            let streams = [client.reader("a"), client.reader("b")]
            for stream in streams {
                try stream.open()
                try await stream.opened()
            }
            for stream in streams {
                while try await !stream.read(upTo: 4096).isEmpty {}
                stream.close()
            }
            let count = server.commands.count { $0.hasPrefix("USER") }
            for name in ["a", "b"] { _ = try await client.size(of: FTPPath(name)) }
            let new = server.commands.count { $0.hasPrefix("USER") } - count
            return limits.idle == .zero ? 0 + (new == 2 ? 0 : 2) : client.pool.idleCount
        }
        #expect(try await kept(.init()) == 2)
        for (name, row) in rows { #expect(try await kept(row.limits) == row.kept, "\(name)") }
        #expect(Set(rows.keys) == Set(Mirror(reflecting: FTPSessionPool.Limits()).children.compactMap(\.label)))
    }
}
