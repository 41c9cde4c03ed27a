import Foundation
import Peers
import Testing

@testable import netkit

/// URLs of the command line, as browsers and curl read them.
@Suite struct URLArgumentTests {
    @Test(arguments: [
        ("http://127.1/", "http://127.0.0.1/"), ("http://127.1:80/x", "http://127.0.0.1:80/x"),
        ("http://0x7f000001/", "http://127.0.0.1/"), ("http://0X7F.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"), ("http://0177.0.0.01/", "http://127.0.0.1/"),
        ("http://127.65535/", "http://127.0.255.255/"), ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://u:p@127.1/", "http://u:p@127.0.0.1/"), ("http://10.1.256/", "http://10.1.1.0/"),
        // These are no addresses, which the resolver says.
        ("http://127.0.0.256/", "http://127.0.0.256/"), ("http://1.2.3.4.5/", "http://1.2.3.4.5/"),
        ("http://4294967296/", "http://4294967296/"), ("http://08/", "http://08/"), ("http://0x-1/", "http://0x-1/"),
        ("http://1.example/", "http://1.example/"), ("ftp://127.1/", "ftp://127.1/"),
        ("http://h/a/../b", "http://h/b"), ("http://h/a/./b/.", "http://h/a/b/"), ("http://h/../..", "http://h/"),
        ("http://h/a/b/..?q=/../x#/..", "http://h/a/?q=/../x#/.."), ("http://h/a/%2E%2e/b", "http://h/b"),
        ("http://h/a/.%2E", "http://h/"), ("http://h/a//../b", "http://h/a/b"),
        ("http://h/.../..a", "http://h/.../..a"),
        ("http://h/%zz", "http://h/%25zz"), ("http://h", "http://h"), ("https://h/..", "https://h/"),
        ("ftp://h/a/../b", "ftp://h/a/../b"),
    ])
    func asBrowsers(_ text: String, _ url: String) {
        #expect(URLArgument.url(text)?.absoluteString == url)
    }

    @Test func asCurl() async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let run = try await Tool.run(["get", "http://127.1:\(server.port)/a/../b/./c"])
        #expect(run.output.hasPrefix("GET /b/c HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"), "\(run.text)")
    }
}
