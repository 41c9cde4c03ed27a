import Foundation
import Peers
import Testing

/// The proxies of the environment, as curl uses them.
struct ProxyVariableTests {
    /// The variables of a row, in which PROXY stands for the proxy's address, the URL, and whether the proxy is used.
    struct Row: Sendable, CustomTestStringConvertible {
        var variables: [String: String]
        var url = "http://host.test/"
        var isUsed = true

        var testDescription: String { variables.map { "\($0)=\($1)" }.sorted().joined(separator: " ") + " \(url)" }
    }

    private static let rows = [
        Row(variables: ["http_proxy": "http://PROXY"]),
        Row(variables: ["http_proxy": "PROXY"]),
        Row(variables: ["all_proxy": "http://PROXY"]),
        Row(variables: ["ALL_PROXY": "http://PROXY"]),
        // A CGI program receives the field Proxy of its client as HTTP_PROXY.
        Row(variables: ["HTTP_PROXY": "http://PROXY"], isUsed: false),
        Row(variables: ["https_proxy": "http://PROXY"], isUsed: false),
        Row(variables: ["https_proxy": "http://PROXY"], url: "https://host.test/"),
        Row(variables: ["HTTPS_PROXY": "http://PROXY"], url: "https://host.test/"),
        Row(variables: ["http_proxy": "http://PROXY", "no_proxy": "host.test"], isUsed: false),
        Row(variables: ["http_proxy": "http://PROXY", "no_proxy": "test"], isUsed: false),
        Row(variables: ["http_proxy": "http://PROXY", "no_proxy": ".host.test"], isUsed: false),
        Row(variables: ["http_proxy": "http://PROXY", "NO_PROXY": "*"], isUsed: false),
        Row(variables: ["http_proxy": "http://PROXY", "no_proxy": "st.test,other.test"]),
        Row(variables: ["http_proxy": "http://PROXY", "all_proxy": "http://127.0.0.1:1"]),
    ]

    // Parity: SK-120 (curl)
    @Test(arguments: rows) func asCurlDoes(_ row: Row) async throws {
        for program in ["curl -s", "\"$netkit\" get"] {
            let proxy = try ScriptedServer { connection throws(PeerError) in
                _ = try connection.readHead()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy")
            }
            let variables = row.variables.map { name, value in
                "\(name)='\(value.replacing("PROXY", with: "127.0.0.1:\(proxy.port)"))'"
            }
            let run = try await Tool.run(
                shell: "env \(variables.joined(separator: " ")) \(program) '\(row.url)' 2>&1; true")
            #expect(proxy.recordings.isEmpty != row.isUsed, "\(program): \(run.text)")
        }
    }
}
