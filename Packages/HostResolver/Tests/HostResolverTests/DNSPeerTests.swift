import DNSWire
import Glibc
import Testing

@testable import HostResolver

/// The wire resolver against two widely used name servers.
@Suite(.serialized) struct DNSPeerTests {
    private static let dnsmasqPath = "/usr/sbin/dnsmasq"
    private static let unboundPath = "/usr/sbin/unbound"

    // Parity: HR-014 (dnsmasq)
    @Test
    func dnsmasq() async throws {
        let (peer, resolver) = try await PeerProcess.serving("a.mq.test", by: Self.dnsmasqPath) { port in
            [
                "-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--listen-address=127.0.0.1",
                "--port=\(port)", "--pid-file=", "--user=", "--local-ttl=33",
                "--host-record=a.mq.test,10.77.0.50,2001:db8::50", "--cname=alias.mq.test,a.mq.test",
                "--srv-host=_http._tcp.mq.test,a.mq.test,8080,1,2", "--mx-host=mq.test,a.mq.test,10",
                "--txt-record=t.mq.test,one,two", "--ptr-record=9.0.77.10.in-addr.arpa,nine.mq.test",
                "--local=/mq.test/",
            ]
        }
        defer { withExtendedLifetime(peer) {} }
        try await checkCommonRecords(resolver)
        // dnsmasq serves no other names and answers REFUSED.
        await #expect {
            _ = try await resolver.records(.a, of: "www.example.org")
        } throws: {
            ($0 as? ResolverError)?.code == .serverFailed
                && ($0 as? ResolverError)?.servers.allSatisfy { $0.result == .refused } == true
        }
    }

    @Test
    func unbound() async throws {
        let big = (0..<30).map { "local-data: 'big.mq.test. 60 TXT \"\($0)\(String(repeating: "x", count: 150))\"'" }
        let path = "/tmp/hostresolver-unbound-\(getpid()).conf"
        let configuration = """
            server:
              interface: 127.0.0.1
              do-daemonize: no
              username: ""
              chroot: ""
              directory: "/tmp"
              pidfile: ""
              use-syslog: no
              module-config: "iterator"
              max-udp-size: 1232
              local-zone: "mq.test." static
              local-data: 'mq.test. 60 SOA ns.mq.test. admin.mq.test. 1 2 3 4 5'
              local-data: 'mq.test. 33 MX 10 a.mq.test.'
              local-data: 'a.mq.test. 33 A 10.77.0.50'
              local-data: 'a.mq.test. 33 AAAA 2001:db8::50'
              local-data: '_http._tcp.mq.test. 33 SRV 1 2 8080 a.mq.test.'
              local-data: 't.mq.test. 33 TXT "one" "two"'
              local-data: '9.0.77.10.in-addr.arpa. 33 PTR nine.mq.test.'
              \(big.joined(separator: "\n  "))
            remote-control:
              control-enable: no
            """
        defer { unlink(path) }
        let (peer, resolver) = try await PeerProcess.serving("a.mq.test", by: Self.unboundPath) { port in
            let file = try #require(fopen(path, "w"))
            fputs("server:\n  port: \(port)\n\(configuration)", file)
            fclose(file)
            return ["-d", "-c", path]
        }
        defer { withExtendedLifetime(peer) {} }
        try await checkCommonRecords(resolver)
        // 30 texts of 150 bytes do not fit into 1232 bytes, so they arrive over TCP.
        #expect(try await resolver.records(.txt, of: "big.mq.test").records.count == 30)
    }

    private func checkCommonRecords(_ resolver: WireResolver) async throws {
        let addresses: Set<IPAddress> = [IPAddress("10.77.0.50")!, IPAddress("2001:db8::50")!]
        #expect(Set(try await resolver.addresses(of: "a.mq.test")) == addresses)
        #expect(Set(try await resolver.addresses(of: "a")) == addresses)
        let service = try await resolver.records(.srv, of: "_http._tcp.mq.test")
        let target = DNSName("a.mq.test")!
        #expect(service.records.map(\.data) == [.srv(priority: 1, weight: 2, port: 8080, target: target)])
        #expect(service.timeToLive == 33)
        let mail = try await resolver.records(.mx, of: "mq.test")
        #expect(mail.records.map(\.data) == [.mx(preference: 10, exchange: DNSName("a.mq.test")!)])
        let texts = try await resolver.records(.txt, of: "t.mq.test")
        #expect(texts.records.map(\.data) == [.txt([Array("one".utf8), Array("two".utf8)])])
        #expect(try await resolver.names(of: .address(IPAddress("10.77.0.9")!)) == ["nine.mq.test"])
        await #expect {
            _ = try await resolver.records(.a, of: "none.mq.test")
        } throws: {
            ($0 as? ResolverError)?.code == .hostNotFound
        }
        await #expect {
            _ = try await resolver.records(.aaaa, of: "t.mq.test")
        } throws: {
            ($0 as? ResolverError)?.code == .noData
        }
    }
}

/// The process of a third-party server, which lives as long as this object.
private final class PeerProcess {
    private let identifier: pid_t
    private var hasEnded = false

    /// The error if the program cannot be used. The test fails, because a test that skips itself soon never runs.
    struct Unusable: Error, CustomStringConvertible {
        let program: String
        var reason = "is missing: Scripts/bootstrap installs it"
        var description: String { "\(program) \(reason)." }
    }

    /// Starts `program` on an unused port, and returns it with a resolver that queries it, once it answers for `name`.
    ///
    /// Another process can take the port first; the program then ends, and another port is tried.
    static func serving(
        _ name: String, by program: String, _ arguments: (UInt16) throws -> [String]
    ) async throws -> (PeerProcess, WireResolver) {
        for _ in 0..<10 {
            let port = try freePort()
            let peer = try PeerProcess(program, try arguments(port))
            if let resolver = try await peer.resolver(port: port, answeringFor: name) { return (peer, resolver) }
        }
        throw Unusable(program: program, reason: "ends as soon as it has started")
    }

    /// Starts `program` and discards its output.
    private init(_ program: String, _ arguments: [String]) throws {
        guard access(program, X_OK) == 0 else { throw Unusable(program: program) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: CInt in [1, 2] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        // Threads of the concurrency pool block all signals, and a child process inherits their mask.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier: pid_t = 0
        let failure = posix_spawn(&identifier, program, &actions, &attributes, &words, environ)
        guard failure == 0 else { throw ResolverError(errno: failure, name: program) }
        self.identifier = identifier
    }

    deinit {
        if hasEnded { return }
        kill(identifier, SIGTERM)
        var status: CInt = 0
        waitpid(identifier, &status, 0)
    }

    /// Returns an unused UDP port of 127.0.0.1.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        guard SocketAddress("127.0.0.1:0")!.withSockAddr({ bind(descriptor, $0, $1) }) == 0,
            let port = SocketAddress.local(of: descriptor)?.port
        else { throw ResolverError(errno: errno) }
        return port
    }

    /// Returns a resolver that queries the server on `port`, as soon as it answers for `name`; nil if the process has ended.
    private func resolver(port: UInt16, answeringFor name: String) async throws -> WireResolver? {
        var configuration = ResolverConfiguration(servers: [SocketAddress("127.0.0.1:\(port)")!])
        configuration.search = [DNSName("mq.test")!]
        // A slow machine is not a failure.
        configuration.timeout = .seconds(60)
        let resolver = WireResolver(configuration: configuration, hosts: HostsFile(parsing: ""))
        // Reached only if the server never answers.
        let deadline = ContinuousClock.now + .seconds(300)
        while true {
            do throws(ResolverError) {
                _ = try await resolver.records(.a, of: name, until: deadline)
                return resolver
            } catch {
                // The server does not listen yet, or listens but does not answer yet.
                guard [.temporaryFailure, .timedOut].contains(error.code), .now < deadline else { throw error }
            }
            var status: CInt = 0
            hasEnded = waitpid(identifier, &status, WNOHANG) == identifier
            if hasEnded { return nil }
        }
    }
}
