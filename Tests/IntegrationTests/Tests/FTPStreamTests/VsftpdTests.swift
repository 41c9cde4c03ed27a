import FTPStream
import Foundation
import Peers
import Testing

/// Against vsftpd: LIST only, and with TLS strict about sessions.
struct VsftpdTests {
    @Test(arguments: Style.allCases)
    func thereAndBack(_ style: Style) async throws {
        let server = Vsftpd()
        try await start(server)
        for count in [0, 1, 1_000_000] {
            let bytes = patterned(count)
            let pool = FTPSessionPool()
            let output = try WriteStream(ftpURL: url(server.url("files/there.bin")))
            try output.set(.ftpPool, to: pool)
            try await style.writeAll(bytes, to: output)
            #expect(try server.read("there.bin") == bytes)
            let input = try ReadStream(ftpURL: url(server.url("files/there.bin")))
            try input.set(.ftpPool, to: pool)
            try input.set(.ftpFetchesResourceInfo, to: true)
            #expect(try await style.readAll(input) == bytes)
            #expect(input[.ftpResourceSize] == UInt64(count))
            #expect(input[.ftpLastReply]?.code == 226)
            #expect(pool.idleCount == 1)
        }
    }

    @Test(arguments: [true, false], [true, false])
    func passiveAndActive(_ isPassive: Bool, _ isIPv6: Bool) async throws {
        let server = Vsftpd(isIPv6: isIPv6)
        try await start(server)
        let client = try FTPClient(url(server.url()))
        client.set(.ftpUsesPassiveMode, to: isPassive)
        let bytes = patterned(100_000)
        try await Style.async.writeAll(bytes, to: client.writer("files/a b.bin"))
        #expect(try await Style.async.readAll(client.reader("files/a b.bin")) == bytes)
        #expect(try await client.list("files").map(\.name) == ["a b.bin"])
        let verbs = Set(try server.commands().map { $0.prefix(4) })
        #expect(verbs.contains(isPassive ? "EPSV" : "EPRT"))
        #expect(!verbs.contains("PASV") && !verbs.contains("PORT"))
    }

    @Test(arguments: [Vsftpd.Security.explicit, .implicit], [false, true])
    func everyDataConnectionResumesTheSession(_ security: Vsftpd.Security, _ isNewest: Bool) async throws {
        let server = Vsftpd(security)
        try await start(server)
        let client = try FTPClient(url(server.url()))
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: try CertificateAuthority.shared().root)
        configuration.minimumVersion = isNewest ? .tls13 : .tls12
        configuration.maximumVersion = configuration.minimumVersion
        client.set(
            .ftpSecurity,
            to: FTPSecurity(control: security == .implicit ? .implicit : .required, configuration: configuration))
        let bytes = patterned(300_000)
        // Uploads give no new tickets, so the same one must do for all.
        for number in 0..<4 {
            let stream = client.writer(FTPPath("files/\(number).bin"))
            try await Style.async.writeAll(bytes, to: stream)
            #expect(stream[.tlsInformation]?.version == configuration.maximumVersion)
            #expect(stream[.ftpDataTLSInformation]?.isResumed == true)
        }
        for number in 0..<4 {
            let stream = client.reader(FTPPath("files/\(number).bin"))
            #expect(try await Style.async.readAll(stream) == bytes)
            #expect(stream[.ftpDataTLSInformation]?.isResumed == true)
        }
        #expect(try await client.list("files").count == 4)
        #expect(try server.commands().count { $0.hasPrefix("USER") } == 1)
    }

    @Test func everyStyleOverTLS() async throws {
        let server = Vsftpd(.explicit)
        try await start(server)
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: try CertificateAuthority.shared().root)
        for style in Style.allCases {
            let bytes = patterned(200_000)
            let output = try WriteStream(ftpURL: url(server.url("files/\(style).bin")))
            try output.set(.ftpSecurity, to: .required)
            try output.set(.tls, to: configuration)
            try await style.writeAll(bytes, to: output)
            let input = try ReadStream(ftpURL: url(server.url("files/\(style).bin")))
            try input.set(.ftpSecurity, to: .required)
            try input.set(.tls, to: configuration)
            #expect(try await style.readAll(input) == bytes)
        }
        FTPSessionPool.shared.drain()
    }

    @Test func tlsOrNothing() async throws {
        let plain = Vsftpd()
        try await start(plain)
        let required = try FTPClient(url(plain.url()))
        required.set(.ftpSecurity, to: .required)
        let error = await #expect(throws: StreamError.self) { try await required.list() }
        #expect((error?.underlying as? FTPError)?.code == .notSecure)
        #expect(try !plain.commands().contains { $0.hasPrefix("USER") })
        let preferred = try FTPClient(url(plain.url()))
        preferred.set(.ftpSecurity, to: .preferred)
        #expect(try await preferred.list().map(\.name) == ["files"])

        let secure = Vsftpd(.explicit)
        try await start(secure)
        let untrusting = try FTPClient(url(secure.url()))
        untrusting.set(.ftpSecurity, to: .required)
        let refusal = await #expect(throws: StreamError.self) { try await untrusting.list() }
        #expect(refusal?.domain == .ssl)
    }

    @Test func tenFilesOneLogIn() async throws {
        let server = Vsftpd()
        try await start(server)
        let pool = FTPSessionPool()
        for number in 0..<10 { try server.write("\(number)", [UInt8(number)]) }
        for number in 0..<10 {
            let stream = try ReadStream(ftpURL: url(server.url("files/\(number)")))
            try stream.set(.ftpPool, to: pool)
            #expect(try await Style.async.readAll(stream) == [UInt8(number)])
        }
        #expect(try server.commands().count { $0.hasPrefix("USER") } == 1)
        pool.drain()
        let alone = try ReadStream(ftpURL: url(server.url("files/1")))
        try alone.set(.ftpKeepsConnection, to: false)
        try alone.set(.ftpPool, to: pool)
        #expect(try await Style.async.readAll(alone) == [1])
        #expect(pool.idleCount == 0)
    }

    @Test func resuming() async throws {
        let server = Vsftpd()
        try await start(server)
        let bytes = patterned(10_000)
        try server.write("a", bytes)
        let client = try FTPClient(url(server.url()))
        #expect(try await Style.async.readAll(client.reader("files/a", offset: 9_000)) == Array(bytes[9_000...]))
        #expect(try await Style.async.readAll(client.reader("files/a", offset: 10_000)) == [])
        try await Style.async.writeAll([1, 2, 3], to: client.writer("files/a", offset: 10_000))
        try await Style.async.writeAll([4, 5], to: client.appender("files/a"))
        #expect(try server.read("a") == bytes + [1, 2, 3, 4, 5])
    }

    @Test func whatIsRefusedIsSaid() async throws {
        let server = Vsftpd()
        try await start(server)
        let pool = FTPSessionPool()
        let missing = try ReadStream(ftpURL: url(server.url("files/nothing")))
        try missing.set(.ftpPool, to: pool)
        let error = await #expect(throws: StreamError.self) { try await Style.async.readAll(missing) }
        #expect(error?.domain == .ftp && error?.code == 550)
        #expect((error?.underlying as? FTPError)?.reply?.code == 550)
        #expect(pool.idleCount == 1)  // a refusal costs no session
        let directory = try WriteStream(ftpURL: url(server.url("nowhere/new/")))
        try directory.set(.ftpPool, to: pool)
        await #expect(throws: StreamError.self) {
            try directory.open()  // may know already
            try await directory.opened()
        }
        #expect(directory.error?.code == 550)
    }

    @Test func makingADirectory() async throws {
        let server = Vsftpd()
        try await start(server)
        let stream = try WriteStream(ftpURL: url(server.url("files/new%20one/")))
        try stream.open()
        try await stream.opened()
        #expect(try await stream.write([1]) == 0)
        try await stream.finish()
        #expect(stream.status == .atEnd)
        let client = try FTPClient(url(server.url()))
        let entries = try await client.list("files")
        #expect(entries.map(\.name) == ["new one"])
        #expect(entries.first?.kind == .directory)
        #expect(try await client.list("files/new one").isEmpty)
        try await client.makeDirectory("files/two")
        try await client.rename("files/two", to: "files/new one/three")
        try await client.removeDirectory("files/new one/three")
        await #expect(throws: StreamError.self) { try await client.removeDirectory("files/two") }
    }

    @Test func aDownloadGivenUpLeavesTheSession() async throws {
        let server = Vsftpd()
        try await start(server)
        try server.write("large", patterned(8_000_000))
        try server.write("small", [7])
        let pool = FTPSessionPool()
        let large = try ReadStream(ftpURL: url(server.url("files/large")))
        try large.set(.ftpPool, to: pool)
        try large.open()
        _ = try await large.read(upTo: 1000)
        large.close()
        while pool.idleCount == 0 { await Task.yield() }  // the server was asked to abort, and came back into step
        let small = try ReadStream(ftpURL: url(server.url("files/small")))
        try small.set(.ftpPool, to: pool)
        #expect(try await Style.async.readAll(small) == [7])
        #expect(try server.commands().count { $0.hasPrefix("USER") } == 1)
    }
}
