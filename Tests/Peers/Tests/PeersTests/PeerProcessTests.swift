import Glibc
import Testing

@testable import Peers

@Suite struct PeerProcessTests {
    @Test func triesOtherPortsWhenAPortIsTaken() throws {
        let occupant = PythonHTTPServer()
        try occupant.start()
        defer { occupant.stop() }
        let process = PeerProcess()
        defer { process.stop() }
        var attempts: [Int] = []
        try process.start(Program("python3"), ports: 1) { _, ports throws(PeerError) in
            let port = attempts.isEmpty ? occupant.port : ports[0]
            attempts.append(port)
            return PeerProcess.Launch(
                arguments: ["-u", "-m", "http.server", "--bind", "127.0.0.1", "\(port)"],
                sockets: ListeningSocket.tcp(port))
        }
        #expect(attempts.count == 2)
        #expect(process.isRunning)
    }

    @Test func aTakenFixedPortIsAnErrorWithTheServersLog() throws {
        let namespace = try NetworkNamespace()
        defer { namespace.remove() }
        let first = Dnsmasq(records: [], in: namespace)
        try first.start()
        defer { first.stop() }
        let error = #expect(throws: PeerError.self) { try Unbound(records: [], in: namespace).start() }
        #expect(error?.code == .noPort)
        #expect(error?.log.contains("ddress already in use") == true)
    }

    @Test func aServerThatEndsAtOnceIsAnErrorWithItsLog() throws {
        let error = #expect(throws: PeerError.self) {
            try PeerProcess().start(Program("sh"), ports: 1) { _, ports throws(PeerError) in
                PeerProcess.Launch(arguments: ["-c", "echo my reason; exit 3"], sockets: ListeningSocket.tcp(ports[0]))
            }
        }
        #expect(error?.code == .exited)
        #expect(error?.reason == "sh ended with status 3 before it was ready")
        #expect(error?.log == "my reason\n")
    }

    @Test func aServerThatNeverListensIsAnErrorAndIsEnded() throws {
        let process = PeerProcess()
        let error = #expect(throws: PeerError.self) {
            try process.start(Program("sleep", package: "coreutils"), ports: 1, seconds: 0.2) { _, ports in
                PeerProcess.Launch(arguments: ["1000"], sockets: ListeningSocket.tcp(ports[0]))
            }
        }
        #expect(error?.code == .timedOut)
        #expect(!process.isRunning)
    }
}

/// Whether a process of this id exists, zombies included.
func isAlive(_ pid: Int32) -> Bool { kill(pid, 0) == 0 }

@Suite struct ProcessTests {
    @Test func aMissingProgramNamesItsPackage() async throws {
        let command = Command(Program("no-such-server", package: "no-such-package"), [])
        let error = await #expect(throws: PeerError.self) { try await command.run() }
        #expect(error?.code == .notInstalled)
        #expect(error?.reason.contains("apt-get install --no-install-recommends no-such-package") == true)
    }

    @Test func aCommandThatDoesNotEndIsEnded() async throws {
        let command = Command("sh", "-c", "echo $$; exec sleep 1000")
        let error = await #expect(throws: PeerError.self) { try await command.run(seconds: 3) }
        #expect(error?.code == .timedOut)
        let pid = try #require(error.flatMap { Int32($0.log.split(separator: "\n").first ?? "") })
        #expect(!isAlive(pid))
    }

    @Test func aCommandGetsItsInput() async throws {
        #expect(try await Command(Program("cat"), [], input: Array("given\n".utf8)).run().text == "given\n")
    }

    @Test func commandsInheritNoEnvironment() async throws {
        let variables = try await Command("env").run().text.split(separator: "\n")
        #expect(Set(variables.map { $0.prefix { $0 != "=" } }) == ["PATH", "LC_ALL"])
    }

    @Test func backgroundProcessesAreEndedToo() async throws {
        let result = try await Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!").run()
        let pid = try #require(Int32(result.text.dropLast()))
        // Killed, and then a zombie until init reaps it.
        var state = "?"
        for _ in 0..<200 where !(state.isEmpty || state.hasPrefix("Z")) {
            state = try await Command("ps", "-o", "state=", "-p", "\(pid)").run().text
        }
        #expect(state.isEmpty || state.hasPrefix("Z"))
    }
}

@Suite struct PortPoolTests {
    @Test func portsAreFreeAndNeverGivenTwice() throws {
        let first = try PortPool.take(20)
        let second = try PortPool.take(20)
        #expect(Set(first + second).count == 40)
        #expect((first + second).allSatisfy { PortPool.isFree($0) })
    }

    @Test func aPortInUseIsNotFree() throws {
        let server = PythonHTTPServer()
        try server.start()
        defer { server.stop() }
        #expect(!PortPool.isFree(server.port))
    }
}
