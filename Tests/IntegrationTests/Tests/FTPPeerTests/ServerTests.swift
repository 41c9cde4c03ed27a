import FTPStream
import Foundation
import Peers
import Testing

/// Transfers that must work with every server: vsftpd, proftpd, pure-ftpd, pyftpdlib.
struct ServerTests {
    // Parity: FT-001, FT-002, FT-003, FT-004, FT-008, FT-012 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases, Style.allCases)
    func uploadAndDownload(_ kind: ServerKind, _ style: Style) async throws {
        let server = try await kind.started()
        for count in [0, 1, 1_000_000] {
            let bytes = patterned(count)
            let pool = FTPSessionPool()
            try await style.writeAll(bytes, to: server.writer("files/there.bin", pool: pool))
            #expect(try server.read("there.bin") == bytes)
            let input = try server.reader("files/there.bin", pool: pool)
            try input.set(.ftp(\.fetchesResourceInfo), to: true)
            #expect(try await style.readAll(input) == bytes)
            #expect(input[.ftpResourceSize] == UInt64(count))
            #expect(input[.ftpLastReply]?.code == 226)
            #expect(pool.idleCount == 1)
        }
    }

    /// `finish()` returns when the server has confirmed the upload, which is then complete on its disk; closing before confirms
    /// nothing.
    // Parity: FT-011 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func finishingAnUpload(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let stream = try server.writer("files/whole.bin", pool: FTPSessionPool())
        try stream.open()
        try await stream.writeAll(patterned(500_000))
        #expect(stream[.ftpLastReply]?.code != 226)
        try await stream.finish()
        #expect(stream[.ftpLastReply]?.code == 226)
        #expect(try server.read("whole.bin") == patterned(500_000))
        stream.close()

        let aborted = try server.writer("files/aborted.bin", pool: FTPSessionPool())
        try aborted.open()
        try await aborted.writeAll(patterned(10))
        aborted.close()
        #expect(aborted[.ftpLastReply]?.code != 226)
    }

    // Parity: SK-049 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func theErrorHasTheReplyCode(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        let error = await #expect(throws: StreamError.self) { try await client.remove("files/nowhere") }
        #expect(error?.domain == .ftp && error?.details == [.ftpStatus: .text("550")])
    }

    // Parity: FT-033 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases, [true, false])
    func passiveAndActiveMode(_ kind: ServerKind, _ isIPv6: Bool) async throws {
        let server = try await kind.started(isIPv6: isIPv6)
        let bytes = patterned(100_000)
        for isPassive in [true, false] {
            let client = try server.client()
            try client.set(.ftp(\.usesPassiveMode), to: isPassive)
            let path = FTPPath("files/a b \(isPassive).bin")
            try await Style.async.writeAll(bytes, to: client.writer(path))
            #expect(try await Style.async.readAll(client.reader(path)) == bytes)
            #expect(try await client.list("files").map(\.name).contains("a b \(isPassive).bin"))
        }
        guard kind.logsCommands else { return }
        let verbs = Set(try server.commands().map { $0.prefix(4) })
        #expect(verbs.contains("EPSV") && verbs.contains("EPRT"))
        #expect(!verbs.contains("PASV") && !verbs.contains("PORT"))
    }

    // Parity: FT-032 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases, [true, false])
    func anonymousLogin(_ kind: ServerKind, _ isIPv6: Bool) async throws {
        let server = try await kind.started(isIPv6: isIPv6)
        try server.write("a", [1, 2, 3])
        let client = try FTPClient(url(server.url()))
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1, 2, 3])
        #expect(try await client.list("files").map(\.name) == ["a"])
        if kind.logsCommands { #expect(try server.commands().contains("USER anonymous")) }
        guard kind != .vsftpd else { return }  // its configuration here lets anonymous users write
        let error = await #expect(throws: StreamError.self) {
            try await Style.async.writeAll([1], to: client.writer("files/b"))
        }
        #expect(error?.code == 550 || error?.code == 553, "\(error.debugDescription)")
    }

    // Parity: FT-056 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func aWrongPasswordIsRefused(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        try client.set(.ftp(\.password), to: "wrong")
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(error?.code == 530)
        #expect((error?.underlying as? FTPError)?.code == .loginRefused)
        #expect(error.map { "\($0)".contains("wrong") } == false)
        #expect(client.pool.idleCount == 0)
    }

    @Test(arguments: ServerKind.secure, [false, true])
    func everyDataConnectionResumesTheSession(
        _ server: (ServerKind, FTPServerSecurity), _ isNewest: Bool
    ) async throws {
        let (kind, security) = server
        let server = try await kind.started(security)
        let client = try server.client(isNewest ? .tls13 : .tls12)
        // pure-ftpd sends no tickets in TLS 1.3, so sessions cannot be resumed, and it does not require that.
        let isResumed = kind != .pureFTPd || !isNewest
        let bytes = patterned(300_000)
        // proftpd sends no new tickets, so one ticket must serve all connections.
        for number in 0..<4 {
            let stream = client.writer(FTPPath("files/\(number).bin"))
            try await Style.async.writeAll(bytes, to: stream)
            #expect(stream[.tlsInformation]?.version == (isNewest ? .tls13 : .tls12))
            #expect(stream[.ftpDataTLSInformation]?.isResumed == isResumed)
        }
        for number in 0..<4 {
            let stream = client.reader(FTPPath("files/\(number).bin"))
            #expect(try await Style.async.readAll(stream) == bytes)
            #expect(stream[.ftpDataTLSInformation]?.isResumed == isResumed)
        }
        #expect(try await client.list("files").count == 4)
        try client.set(.ftp(\.usesPassiveMode), to: false)
        for number in 0..<2 {
            let stream = client.writer(FTPPath("files/\(number).bin"))
            try await Style.async.writeAll(bytes, to: stream)
            #expect(stream[.ftpDataTLSInformation]?.isResumed == isResumed)
        }
        if kind.logsCommands { #expect(try server.loginCount() == 2) }  // one session for each mode
    }

    /// CCC: an observer on the network may read the commands, but neither the password nor the files.
    @Test(arguments: ServerKind.clearing, [false, true])
    func theControlConnectionReturnsToPlaintext(
        _ server: (ServerKind, FTPServerSecurity), _ isNewest: Bool
    ) async throws {
        let server = try await server.0.started(server.1)
        let client = try server.client(isNewest ? .tls13 : .tls12)
        var security = try server.protection(isNewest ? .tls13 : .tls12)
        security.clearsControl = true
        try client.set(.ftp(\.security), to: security)
        let bytes = patterned(100_000)
        for isPassive in [true, false] {
            try client.set(.ftp(\.usesPassiveMode), to: isPassive)
            let output = client.writer("files/a.bin")
            try await Style.async.writeAll(bytes, to: output)
            #expect(output[.ftpDataTLSInformation]?.version == (isNewest ? .tls13 : .tls12))
            #expect(try await Style.async.readAll(client.reader("files/a.bin")) == bytes)
            #expect(try await client.list("files").map(\.name) == ["a.bin"])
        }
        #expect(client.pool.idleCount == 2)
    }

    @Test(arguments: ServerKind.secure, Style.allCases)
    func everyStyleOverTLS(_ server: (ServerKind, FTPServerSecurity), _ style: Style) async throws {
        let server = try await server.0.started(server.1, isIPv6: true)
        let pool = FTPSessionPool()
        let bytes = patterned(200_000)
        try await style.writeAll(bytes, to: server.writer("files/a", pool: pool))
        #expect(try await style.readAll(server.reader("files/a", pool: pool)) == bytes)
        #expect(try await style.readAll(server.reader("files/", pool: pool)).isEmpty == false)
        let missing = try server.reader("files/nothing", pool: pool)
        let error = await #expect(throws: StreamError.self) { try await style.readAll(missing) }
        #expect(error?.code == 550)
        #expect(pool.idleCount == 1)
    }

    /// Without `FTPOptions.security`, `ftps` on a port other than 990 is AUTH TLS, unless a silent server shows that it expects TLS
    /// from the first byte.
    @Test(arguments: ServerKind.secure, Style.allCases)
    func silenceDecidesWhenTLSBegins(_ server: (ServerKind, FTPServerSecurity), _ style: Style) async throws {
        let server = try await server.0.started(server.1)
        let pool = FTPSessionPool()
        let bytes = patterned(50_000)
        let configuration = try server.protection(nil).configuration
        let address = try #require(URL(string: "ftps://\(FTPServerAccount.name)@localhost:\(server.port)/files/a"))
        let writer = try WriteStream(ftpURL: address)
        try writer.set(.ftp(\.password), to: FTPServerAccount.password)
        try writer.set(.tls, to: configuration)
        try writer.set(.ftp(\.pool), to: pool)
        try await style.writeAll(bytes, to: writer)
        #expect(writer[.tlsInformation] != nil && writer[.ftpDataTLSInformation] != nil)
        let reader = try ReadStream(ftpURL: address)
        try reader.set(.ftp(\.password), to: FTPServerAccount.password)
        try reader.set(.tls, to: configuration)
        try reader.set(.ftp(\.pool), to: pool)
        #expect(try await style.readAll(reader) == bytes)
        // One session serves both.
        #expect(pool.idleCount == 1)
    }

    @Test(arguments: ServerKind.secure)
    func requiredTLSNeverFallsBack(_ kind: ServerKind, _ security: FTPServerSecurity) async throws {
        let server = try await kind.started(security)
        let untrusting = try server.client()
        var verified = try server.protection(nil)
        verified.configuration = TLSConfiguration()
        try untrusting.set(.ftp(\.security), to: verified)
        let refusal = await #expect(throws: StreamError.self) { try await untrusting.list() }
        #expect(refusal?.domain == .ssl)
        guard security == .explicit else { return }
        let plain = try server.client()
        try plain.set(.ftp(\.security), to: .off)
        let error = await #expect(throws: StreamError.self) { try await plain.list() }
        #expect(error?.domain == .ftp, "\(error.debugDescription)")  // the server refuses the login
    }

    @Test(arguments: ServerKind.allCases)
    func serversWithoutTLS(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let required = try server.client()
        try required.set(.ftp(\.security), to: .required)
        let error = await #expect(throws: StreamError.self) { try await required.list() }
        // pure-ftpd accepts AUTH TLS although TLS is disabled.
        if kind == .pureFTPd {
            #expect(error != nil)
        } else {
            #expect((error?.underlying as? FTPError)?.code == .notSecure)
            #expect(try server.loginCount() == 0)
            let preferred = try server.client()
            try preferred.set(.ftp(\.security), to: .preferred)
            #expect(try await preferred.list().map(\.name) == ["files"])
        }
    }

    // Parity: FT-038 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func transfersShareOneSession(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let pool = FTPSessionPool()
        for number in 0..<10 { try server.write("\(number)", [UInt8(number)]) }
        for number in 0..<10 {
            #expect(try await Style.async.readAll(server.reader("files/\(number)", pool: pool)) == [UInt8(number)])
            #expect(pool.idleCount == 1)
        }
        if kind.logsCommands { #expect(try server.loginCount() == 1) }
        pool.drain()
        let alone = try server.reader("files/1", pool: pool)
        try alone.set(.ftp(\.keepsConnection), to: false)
        #expect(try await Style.async.readAll(alone) == [1])
        #expect(pool.idleCount == 0)
    }

    // Parity: FT-037 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func transfersFromAnOffset(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let bytes = patterned(10_000)
        try server.write("a", bytes)
        let client = try server.client()
        #expect(try await Style.async.readAll(client.reader("files/a", offset: 9_000)) == Array(bytes[9_000...]))
        #expect(try await Style.async.readAll(client.reader("files/a", offset: 10_000)) == [])
        try await Style.async.writeAll([1, 2, 3], to: client.writer("files/a", offset: 10_000))
        try await Style.async.writeAll([4, 5], to: client.appender("files/a"))
        #expect(try server.read("a") == bytes + [1, 2, 3, 4, 5])
    }

    // Parity: FT-005, FT-056, FT-057 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func refusalsAreReported(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let pool = FTPSessionPool()
        let missing = try server.reader("files/nothing", pool: pool)
        let error = await #expect(throws: StreamError.self) { try await Style.async.readAll(missing) }
        #expect(error?.domain == .ftp && error?.code == 550)
        #expect((error?.underlying as? FTPError)?.reply?.code == 550)
        #expect(pool.idleCount == 1)  // a refusal costs no session
        let directory = try server.writer("files/nowhere/new/", pool: pool)
        await #expect(throws: StreamError.self) {
            try directory.open()  // the failure may be known already
            try await directory.opened()
        }
        #expect(directory.error?.code == 550)
        let file = try server.writer("files/nowhere/new", pool: pool)
        let refusal = await #expect(throws: StreamError.self) { try await Style.async.writeAll([1], to: file) }
        #expect(refusal?.code == 550 || refusal?.code == 553)
        #expect(pool.idleCount == 1)
    }

    // Parity: FT-003, FT-060 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func directoriesAreCreatedRenamedAndRemoved(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let pool = FTPSessionPool()
        let stream = try server.writer("files/new%20one/", pool: pool)
        try stream.open()
        try await stream.opened()
        #expect(try await stream.write([1]) == 0)
        try await stream.finish()
        #expect(stream.status == .atEnd)
        let again = try server.writer("files/new%20one/", pool: pool)
        await #expect(throws: StreamError.self) {
            try again.open()
            try await again.opened()
        }
        let client = try server.client()
        let entries = try await client.list("files")
        #expect(entries.map(\.name) == ["new one"])
        #expect(entries.first?.kind == .directory)
        #expect(try await client.list("files/new one").isEmpty)
        try await client.makeDirectory("files/two")
        try await client.rename("files/two", to: "files/new one/three")
        try await client.removeDirectory("files/new one/three")
        await #expect(throws: StreamError.self) { try await client.removeDirectory("files/two") }
    }

    /// A stream that makes a directory, by events and blocking: its end means that the directory was made, an error that it was
    /// not, and it never asks for bytes.
    // Parity: FT-060 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func directoriesByEventsAndBlocking(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let pool = FTPSessionPool()
        func events() async throws -> [StreamEvent] {
            let stream = try server.writer("files/byEvents/", pool: pool)
            let events = stream.events()
            try? stream.open()  // a failure at once is also an event
            var seen: [StreamEvent] = []
            for try await event in events { seen.append(event) }
            stream.close()
            return seen
        }
        #expect(try await events() == [.openCompleted, .endEncountered])
        #expect(try await events() == [.errorOccurred])
        for isNew in [true, false] {
            let stream = try server.writer("files/blocking/", pool: pool)
            try await onThread {
                let result = Result {
                    try stream.open()
                    try stream.finish()
                }
                #expect((try? result.get()) != nil ? isNew : !isNew)
                stream.close()
            }
        }
        #expect(Set(try await server.client().list("files").map(\.name)) == ["byEvents", "blocking"])
    }

    /// The disk of the user is full: the server refuses the rest of an upload, or confirms nothing.
    // Parity: FT-011, FT-058 (pure-ftpd)
    @Test func anUploadBeyondAQuotaIsAnError() async throws {
        let server = PureFTPd(quota: 1)
        try await start(server)
        let fits = try server.writer("files/fits.bin", pool: FTPSessionPool())
        try await Style.async.writeAll(patterned(1000), to: fits)
        let large = try server.writer("files/large.bin", pool: FTPSessionPool())
        let error = await #expect(throws: StreamError.self) {
            try await Style.async.writeAll(patterned(4 << 20), to: large)
        }
        #expect(error?.domain == .ftp && error?.code == 552, "\(error.debugDescription)")
    }

    @Test(arguments: ServerKind.allCases)
    func sizesDatesAndModesOfFiles(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        try await Style.async.writeAll(patterned(1234), to: client.writer("files/a"))
        #expect(try await client.size(of: "files/a") == 1234)
        let changed = try await client.modificationDate(of: "files/a").secondsSince1970()
        #expect(abs(Double(changed) - Date().timeIntervalSince1970) < 3600)
        try await client.setMode(0o600, of: "files/a")
        #expect(try await client.list("files").first?.mode.map { $0 & 0o777 } == 0o600)
        try await client.rename("files/a", to: "files/b \"c\"")
        try await client.remove("files/b \"c\"")
        #expect(try await client.list("files").isEmpty)
        #expect(try await client.command(FTPCommand("NOOP")).code == 200)
        #expect(try await client.command(FTPCommand("XYZZY")).code / 100 == 5)
        let error = await #expect(throws: StreamError.self) { try await client.remove("files/nothing") }
        #expect(error?.code == 550)
    }

    /// Names with any bytes except `/` and line ends survive in both directions, in each listing format of the server.
    // Parity: FT-053 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func unusualFileNames(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        let names = ["été 日本.txt", "two  blanks", "dash-", "-R", "a -> b", "%41", "x;y=z", "q\"q", "[a]*?"]
        for name in names { try await Style.async.writeAll([7], to: client.writer(FTPPath("files/" + name))) }
        for command in [FTPListingCommand.list, .names] + (kind.hasFacts ? [.facts] : []) {
            try client.set(.ftp(\.listingCommand), to: command)
            let found = try await client.list("files").map(\.name)
            #expect(found.sorted() == names.sorted(), "\(command)")
        }
        for name in names {
            #expect(try await Style.async.readAll(client.reader(FTPPath("files/" + name))) == [7])
            #expect(try server.read(name) == [7])
        }
    }

    /// LIST and MLSD of the same files agree, as far as LIST contains the information.
    // Parity: FT-003, FT-070 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func listingsOfBothFormatsAgree(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        for (name, count) in [("a", 0), ("b", 1), ("c", 123_456)] { try server.write(name, patterned(count)) }
        try await client.makeDirectory("files/d")
        try client.set(.ftp(\.listingCommand), to: .list)
        let listed = try await client.list("files").sorted { $0.name < $1.name }
        #expect(listed.map(\.name) == ["a", "b", "c", "d"])
        #expect(listed.map(\.kind) == [.file, .file, .file, .directory])
        #expect(listed.prefix(3).map(\.size) == [0, 1, 123_456])
        let now = Date().timeIntervalSince1970
        #expect(listed.allSatisfy { abs(Double($0.date?.secondsSince1970() ?? 0) - now) < 86_400 })
        guard kind.hasFacts else { return }
        try client.set(.ftp(\.listingCommand), to: .automatic)
        let exact = try await client.list("files").sorted { $0.name < $1.name }
        #expect(exact.allSatisfy { $0.format == .facts && $0.date?.zone == .utc })
        #expect(exact.map(\.name) == listed.map(\.name) && exact.map(\.kind) == listed.map(\.kind))
        #expect(exact.prefix(3).map(\.size) == listed.prefix(3).map(\.size))
    }

    /// The client aborts a transfer and resynchronizes with the server. The replies and their timing differ in all servers.
    // Parity: FT-013 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func anAbortedTransferKeepsTheSession(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        try server.write("large", patterned(8_000_000))
        try server.write("small", [7])
        let pool = FTPSessionPool()
        let large = try server.reader("files/large", pool: pool)
        try large.open()
        _ = try await large.read(upTo: 1000)
        large.close()
        try await until { pool.idleCount == 1 }
        #expect(try await Style.async.readAll(server.reader("files/small", pool: pool)) == [7])
        let upload = try server.writer("files/new", pool: pool)
        try upload.open()
        try await upload.writeAll(patterned(1000))
        upload.close()
        try await until { pool.idleCount == 1 }
        #expect(try await Style.async.readAll(server.reader("files/small", pool: pool)) == [7])
        if kind.logsCommands { #expect(try server.loginCount() == 1) }
    }

    /// NOOPs during transfers: some servers reply at once, some afterwards, pure-ftpd with 500. The client must not mistake the
    /// reply for the transfer's, and the session must remain usable.
    @Test(arguments: ServerKind.allCases)
    func noopsDuringTransfers(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        try client.set(.ftp(\.keepAlive), to: .milliseconds(1))
        let bytes = patterned(4_000_000)
        for round in 0..<2 {
            try await Style.async.writeAll(bytes, to: client.writer("files/a"))
            #expect(try server.read("a") == bytes)
            try await until { client.pool.idleCount == 1 }
            let stream = client.reader("files/a")
            try stream.open()
            var all = try await stream.read(upTo: 1000)
            if kind.logsCommands, kind != .vsftpd { try await until { try server.commands().contains("NOOP") } }
            for try await chunk in stream.chunks() { all += chunk }
            stream.close()
            #expect(all == bytes, "round \(round)")
            try await until { client.pool.idleCount == 1 }
        }
        if kind.logsCommands {
            #expect(try server.loginCount() == 1)
            #expect(try server.commands().contains("NOOP"))
        }
    }

    /// Paths are relative to the login directory, whatever was listed before, and absolute after `%2F`, with and without chroot.
    // Parity: FT-052 (proftpd, pure-ftpd, pyftpdlib, vsftpd)
    @Test(arguments: ServerKind.allCases)
    func relativeAndAbsolutePaths(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        try server.write("a", [1, 2])
        let client = try server.client()
        let quoted = try await client.command(FTPCommand("PWD")).text
        let home = try #require(quoted.split(separator: "\"", omittingEmptySubsequences: false).dropFirst().first)
        #expect((home == "/") == (kind != .proftpd))
        let absolute = (home == "/" ? "" : String(home)) + "/files/a"
        try client.set(.ftp(\.listingCommand), to: .list)  // changes the directory
        #expect(try await client.list("files").map(\.name) == ["a"])
        #expect(try await Style.async.readAll(client.reader(FTPPath(absolute))) == [1, 2])
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1, 2])
        let pool = FTPSessionPool()
        let path = "%2F" + absolute.dropFirst()
        #expect(try await Style.async.readAll(server.reader(path, pool: pool)) == [1, 2])
        #expect(try await Style.async.readAll(server.reader("files/a", pool: pool)) == [1, 2])
    }
}
