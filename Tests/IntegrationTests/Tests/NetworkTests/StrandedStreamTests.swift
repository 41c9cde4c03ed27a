import Foundation
import Peers
import Testing

/// A stream whose local address is removed, in a separate network namespace.
@Suite struct StrandedStreamTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("stream-probe").path

    @Test(
        "SK-062: the stream that wants to know fails, another one stays",
        arguments: ["192.0.2.7/32", "2001:db8::7/128"])
    func addressIsRemoved(_ network: String) async throws {
        let namespace = try NetworkNamespace(addresses: ["198.51.100.1/24"])
        defer { namespace.remove() }
        let address = try #require(network.split(separator: "/").first)
        let script = """
            ip address add \(network) dev lo nodad
            exec \(Self.tool) stranded \(address) 'ip address delete \(network) dev lo'
            """
        let result = try await Command(Program("sh", package: "dash"), ["-ec", script], in: namespace).run()
        #expect(
            result.text
                == "This machine no longer has the address \(address), which the connection uses.\nerror open\n",
            "\(result)")
    }
}
