import Peers
import Testing

@Suite struct PythonHTTPServerTests {
    @Test func givesFilesAndStops() async throws {
        let server = PythonHTTPServer()
        try server.start()
        try server.write("hello.txt", "hello\n")
        #expect(try await Command("curl", "-sS", server.url("/hello.txt")).run().text == "hello\n")
        #expect(server.log.contains("GET /hello.txt HTTP/1.1"))
        let port = server.port
        server.stop()
        #expect(!server.isRunning && PortPool.isFree(port))
        #expect(server.log.contains("GET /hello.txt"), "the log outlives the server")

        try server.start()
        #expect(server.port != port && server.isRunning)
        server.stop()
    }
}
