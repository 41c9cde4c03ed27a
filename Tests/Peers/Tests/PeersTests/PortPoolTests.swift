import Peers
import Testing

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
