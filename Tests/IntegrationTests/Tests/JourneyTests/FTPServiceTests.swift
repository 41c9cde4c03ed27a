import Foundation
import Peers
import Testing

/// From a service type to the bytes of the files of a service on the network.
@Suite(.serialized) struct FTPServiceTests {
    /// The service is Avahi's and the server pyftpdlib, on another host.
    @Test func discoversListsAndFetches() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let server = PyFTPServer(at: "10.77.5.1", in: network.left)
        try server.start()
        defer { server.stop() }
        try server.write("first film.txt", Array("a train arrives".utf8))
        try server.write("second.txt", Array("workers leave".utf8))
        let avahi = Avahi(
            hostName: "films",
            services: [Avahi.Service("Films. Nr. 1", type: "_ftp._tcp", port: server.port, texts: ["path=/files/"])],
            in: network.left)
        try avahi.start()
        defer { avahi.stop() }

        let visitor = LineProgram(try serviceStreams(), ["--embedded", "fetch", "_ftp._tcp"], in: network.right)
        try visitor.start()
        defer { visitor.stop() }
        #expect(await visitor.says("+ Films. Nr. 1"), "\(visitor.log)")
        #expect(await visitor.says("at films.local. \(server.port)"), "\(visitor.log)")
        #expect(await visitor.says("first film.txt 15 a train arrives"), "\(visitor.log)")
        #expect(await visitor.says("second.txt 13 workers leave"), "\(visitor.log)")
        #expect(server.commands().filter { $0.hasPrefix("RETR") }.count == 2)
    }

    /// The program is next to the test bundle.
    private func serviceStreams() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return (tests as NSString).deletingLastPathComponent + "/service-streams"
    }
}
