import Glibc

@testable import HostResolver

/// The process of a third-party server, which lives as long as this object.
final class PeerProcess {
    private let identifier: pid_t

    /// The error if the program is not installed. The test fails, because a test that skips itself soon never runs.
    struct Missing: Error, CustomStringConvertible {
        let program: String
        var description: String { "\(program) is missing: Scripts/bootstrap installs it." }
    }

    /// Starts `program` and discards its output.
    init(_ program: String, _ arguments: [String]) throws {
        guard access(program, X_OK) == 0 else { throw Missing(program: program) }
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
        kill(identifier, SIGTERM)
        var status: CInt = 0
        waitpid(identifier, &status, 0)
    }

    /// Returns an unused port of 127.0.0.1.
    static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        guard SocketAddress("127.0.0.1:0")!.withSockAddr({ bind(descriptor, $0, $1) }) == 0,
            let port = SocketAddress.local(of: descriptor)?.port
        else { throw ResolverError(errno: errno) }
        return port
    }

    /// Returns a resolver that queries the server on `port`, as soon as it answers for `name`.
    static func resolver(port: UInt16, answeringFor name: String) async throws -> WireResolver {
        var configuration = ResolverConfiguration(servers: [SocketAddress("127.0.0.1:\(port)")!])
        configuration.search = [DNSName("mq.test")!]
        let resolver = WireResolver(configuration: configuration, hosts: HostsFile(parsing: ""))
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do throws(ResolverError) {
                _ = try await resolver.records(.a, of: name, until: deadline)
                return resolver
            } catch {
                // The server does not listen yet.
                guard error.code == .temporaryFailure, .now < deadline else { throw error }
            }
        }
    }
}
