import Glibc
import Peers
import Testing

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
        let error = await #expect(throws: PeerError.self) { try await command.run(seconds: 0.3) }
        #expect(error?.code == .timedOut)
        let pid = try #require(error.flatMap { Int32($0.log.split(separator: "\n").first ?? "") })
        #expect(!isAlive(pid))
    }

    @Test func aCommandGetsItsInput() async throws {
        #expect(try await Command(Program("cat"), [], input: Array("given\n".utf8)).run().text == "given\n")
    }

    @Test func aCommandGetsNothingOfOurEnvironment() async throws {
        let variables = try await Command("env").run().text.split(separator: "\n")
        #expect(Set(variables.map { $0.prefix { $0 != "=" } }) == ["PATH", "LC_ALL"])
    }

    @Test func whatACommandLeavesInTheBackgroundIsEndedToo() async throws {
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
