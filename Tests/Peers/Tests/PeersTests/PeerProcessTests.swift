import Testing

@testable import Peers

@Suite struct PeerProcessTests {
    @Test func triesOtherPortsWhenSomebodyWasFaster() throws {
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

    @Test func aTakenFixedPortIsAnErrorWithTheServersWords() throws {
        let namespace = try NetworkNamespace()
        defer { namespace.remove() }
        let first = Dnsmasq(records: [], in: namespace)
        try first.start()
        defer { first.stop() }
        let error = #expect(throws: PeerError.self) { try Unbound(records: [], in: namespace).start() }
        #expect(error?.code == .noPort)
        #expect(error?.log.contains("ddress already in use") == true)
    }

    @Test func aServerThatEndsAtOnceIsAnErrorWithItsWords() throws {
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
