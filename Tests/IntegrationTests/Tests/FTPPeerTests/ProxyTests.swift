import FTPStream
import Foundation
import NetKit
import Peers
import Testing

/// Routes to a server: SOCKS and CONNECT carry both connections; at a proxy that speaks FTP, the client logs in as `user@host`.
struct ProxyTests {
    private static let bytes = patterned(300_000)

    private func transfer(_ client: FTPClient, _ server: any FTPServer) async throws {
        try await Style.async.writeAll(Self.bytes, to: client.writer("files/a"))
        #expect(try server.read("a") == Self.bytes)
        #expect(try await Style.async.readAll(client.reader("files/a")) == Self.bytes)
        #expect(try await client.list("files").map(\.name) == ["a"])
    }

    // Parity: FT-042 (dante, proftpd, vsftpd)
    @Test(
        .enabled(if: Dante.omission == nil, "\(Dante.omission ?? "")"),
        arguments: [ServerKind.vsftpd, .proftpd], [FTPServerSecurity.off, .explicit])
    func aSOCKSProxyCarriesBothConnections(_ kind: ServerKind, _ security: FTPServerSecurity) async throws {
        let server = try await kind.started(security)
        let dante = Dante()
        try await start(dante)
        let client = try server.client()
        try client.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: UInt16(dante.port)))
        try await transfer(client, server)
        // The proxy's own log: the control connection and each of the three data connections.
        let isCarried = await dante.logs { $0.split(separator: "\n").count { $0.contains("tcp/connect [") } >= 4 }
        #expect(isCarried, "\(dante.log)")
        try client.set(.ftp(\.usesPassiveMode), to: false)
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect((error?.underlying as? FTPError)?.code == .badArgument)
    }

    /// microsocks checks the password; if the client bypassed it, a wrong password would work, too.
    @Test func aSOCKSProxyWithAPassword() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        let proxy = Microsocks(user: "alice", password: "open sesame")
        try await start(proxy)
        let client = try server.client()
        var socks = SOCKSProxy(host: "127.0.0.1", port: UInt16(proxy.port), user: "alice", password: "open sesame")
        try client.set(.socksProxy, to: socks)
        try await transfer(client, server)
        socks.password = "wrong"
        try client.set(.socksProxy, to: socks)
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(error?.domain == .socks)
    }

    @Test(arguments: [FTPServerSecurity.off, .explicit, .implicit])
    func anHTTPProxyCarriesBothConnections(_ security: FTPServerSecurity) async throws {
        let server = try await ServerKind.proftpd.started(security)
        let squid = Squid()
        try await start(squid)
        let client = try server.client()
        try client.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(squid.port)))])
        try await transfer(client, server)
        client.pool.drain()
        // squid logs a tunnel when it ends: both connections used one.
        try await until { squid.log.split(separator: "\n").count { $0.contains("CONNECT 127.0.0.1:") } >= 4 }
    }

    // Parity: FT-040, FT-041, FT-042 (pure-ftpd, vsftpd)
    @Test(arguments: [ServerKind.vsftpd, .pureFTPd], [false, true])
    func aProxyThatSpeaksFTP(_ kind: ServerKind, _ hasUser: Bool) async throws {
        let server = try await kind.started()
        let proxy = hasUser ? FTPUserProxy(user: "pat", password: "let me out") : FTPUserProxy()
        try await start(proxy)
        let client = try server.client()
        var description = FTPProxy(host: "127.0.0.1", port: UInt16(proxy.port))
        if hasUser { (description.userName, description.password) = ("pat", "let me out") }
        try client.set(.ftp(\.proxy), to: description)
        try await transfer(client, server)
        #expect(proxy.requests == ["ann@127.0.0.1:\(server.port)"])
        guard hasUser else { return }
        description.password = "wrong"
        try client.set(.ftp(\.proxy), to: description)
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect((error?.underlying as? FTPError)?.code == .loginRefused)
    }

    /// FT-034, FT-039: the machine's settings apply, including the mode of data connections; explicit properties take precedence.
    // Parity: FT-033, FT-034, FT-039 (pyftpdlib)
    @Test func settingsDetermineTheModeOfDataConnections() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("a", Self.bytes)
        let file = try url(server.url("files/a", user: "ann"))
        func verbs(_ settings: ProxySettings, isPassive: Bool?) async throws -> Set<String> {
            let stream = try ReadStream(ftpURL: file)
            try stream.set(.ftp(\.password), to: "open sesame")
            try stream.set(.ftp(\.pool), to: FTPSessionPool())
            if let isPassive { try stream.set(.ftp(\.usesPassiveMode), to: isPassive) }
            try await stream.applyToFTP(settings, for: file)
            #expect(stream[.ftp(\.usesPassiveMode)] == isPassive ?? settings.usesPassiveFTP ?? true)
            let count = try server.commands().count
            #expect(try await Style.async.readAll(stream) == Self.bytes)
            return Set(try server.commands().dropFirst(count).map { String($0.prefix(4)) })
        }
        var settings = ProxySettings()
        #expect(try await verbs(settings, isPassive: nil).isDisjoint(with: ["EPRT"]))
        settings.usesPassiveFTP = false
        #expect(try await verbs(settings, isPassive: nil).isSuperset(of: ["EPRT"]))
        #expect(try await verbs(settings, isPassive: true).isSuperset(of: ["EPSV"]))
        settings.usesPassiveFTP = true
        #expect(try await verbs(settings, isPassive: nil).isSuperset(of: ["EPSV"]))
        #expect(try await verbs(settings, isPassive: false).isSuperset(of: ["EPRT"]))
    }

    /// SK-131: the proxies of settings and scripts are tried in turn; an HTTP proxy carries FTP, including uploads, in tunnels.
    // Parity: SK-131 (squid, vsftpd)
    @Test(arguments: [false, true])
    func theNextProxyIsUsedIfOneIsUnreachable(_ isScript: Bool) async throws {
        let server = try await ServerKind.vsftpd.started()
        let squid = Squid()
        try await start(squid)
        let dead = try PortPool.take(1)[0]
        var settings = ProxySettings()
        settings.bypassesLoopback = false
        if isScript {
            let decision = "'PROXY 127.0.0.1:\(dead); PROXY 127.0.0.1:\(squid.port)'"
            settings.script = .text("function FindProxyForURL(url, host) { return \(decision); }")
        } else {
            settings.ftp = [UInt16(dead), UInt16(squid.port)].map { ProxyServer(.http, host: "127.0.0.1", port: $0) }
        }
        let client = try server.client()
        try await client.apply(settings, for: url(server.url()))
        try await transfer(client, server)
        client.pool.drain()
        try await until { squid.log.split(separator: "\n").count { $0.contains("CONNECT 127.0.0.1:") } >= 4 }
        settings.script = .text("function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(dead)'; }")
        try await client.apply(settings, for: url(server.url()))
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(error?.isPOSIX(ECONNREFUSED) == true)  // not direct
    }

    /// FTP over HTTP: the proxy receives the URL, logs in and fetches the file.
    @Test func ftpOverHTTP() async throws {
        let server = try await ServerKind.proftpd.started()
        try server.write("a", Self.bytes)
        let squid = Squid()
        try await start(squid)
        func stream(_ text: String) throws -> ReadStream {
            let stream = try ReadStream(httpURL: url(text))
            try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(squid.port)))])
            return stream
        }
        #expect(try await Style.async.readAll(stream(server.url("files/a"))) == Self.bytes)
        let known = server.url("files/a", user: "ann:open%20sesame")
        #expect(try await Style.async.readAll(stream(known)) == Self.bytes)
        #expect(try server.commands().contains("USER ann"))
        let missing = try stream(server.url("files/nothing"))
        try missing.open()
        #expect(try await missing.response().status.code == 404)
        missing.close()
        // Without a proxy, an FTP server cannot be reached over HTTP.
        let direct = try ReadStream(httpURL: url(server.url("files/a")))
        let error = await #expect(throws: StreamError.self) { try await Style.async.readAll(direct) }
        #expect(error?.description.contains("HTTP proxy") == true)
    }
}
