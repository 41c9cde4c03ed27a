import Foundation
import Peers
import Testing

/// `netkit resolve` with real DNS servers.
@Suite struct ResolveTests {
    private static let data: [(type: String, text: String)] = [
        ("CAA", #"0 issue "ca.peers.test""#), ("DS", "60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118"),
        ("HTTPS", "1 . alpn=h2,http/1.1 port=8443 ipv4hint=192.0.2.1"), ("TLSA", "3 1 1 abcd"),
        ("NAPTR", #"100 10 "u" "E2U+sip" "!^.*$!sip:a@peers.test!" ."#), ("SVCB", "16 svc.peers.test. port=53"),
        ("TXT", #""one" "two \"three\"""#), ("TYPE62347", "\\# 4 0a000001"), ("SRV", "0 5 993 mail.peers.test."),
        ("MX", "10 mail.peers.test."),
    ]

    private static let server: Result<Unbound, any Error> = Result {
        let unbound = Unbound(
            records: data.map { DNSRecord("x.peers.test", .other($0.type, $0.text)) } + [
                .a("www.peers.test", "192.0.2.1"), .cname("alias.peers.test", "www.peers.test"),
            ])
        try unbound.start()
        return unbound
    }

    private func resolve(_ arguments: String...) async throws -> Tool.Run {
        let port = try Self.server.get().port
        return try await Tool.run(["resolve", "--server", "127.0.0.1:\(port)"] + arguments)
    }

    @Test(arguments: data.indices) func eachType(_ index: Int) async throws {
        let (type, text) = Self.data[index]
        for options in [["--type", type], ["-t", type.lowercased(), "--tcp"]] {
            let run = try await Tool.run(
                ["resolve", "--server", "127.0.0.1:\(Self.server.get().port)", "--short", "x.peers.test"] + options)
            #expect(run.status == 0 && run.output == text + "\n", "\(run.text)")
        }
        let object = try await resolve("--json", "--type", type, "x.peers.test")
        #expect(object.output.contains(#""type":"\#(type)""#), "\(object.text)")
    }

    @Test func fieldsInJSON() async throws {
        let mail = try await resolve("--json", "--type", "MX", "x.peers.test")
        #expect(
            mail.output.contains(#""exchange":"mail.peers.test.","preference":10,"ttl":300,"type":"MX""#),
            "\(mail.text)")
        let service = try await resolve("--json", "--type", "SRV", "x.peers.test")
        #expect(service.output.contains(#""port":993,"priority":0,"target":"mail.peers.test.""#), "\(service.text)")
        let texts = try await resolve("--json", "--type", "TXT", "x.peers.test")
        #expect(texts.output.contains(#""texts":["one","two \"three\""]"#), "\(texts.text)")
        let alias = try await resolve("--json", "--type", "A", "alias.peers.test")
        #expect(alias.output.contains(#""canonicalName":"www.peers.test.""#), "\(alias.text)")
        let own = try await resolve("--short", "--type", "CNAME", "alias.peers.test")
        #expect(own.output == "www.peers.test.\n", "\(own.text)")
        let several = try await resolve("--type", "MX,TLSA", "x.peers.test")
        #expect(
            several.output == "MX  10 mail.peers.test.  TTL 300\nTLSA  3 1 1 abcd  TTL 300\n", "\(several.text)")
    }

    @Test func namesWithoutTheRecord() async throws {
        let none = try await resolve("--type", "MX", "www.peers.test")
        #expect(
            none.status == 6 && none.errors.contains("the name exists, but has no record of the requested type"),
            "\(none.text)")
        let missing = try await resolve("--type", "MX", "nothing.peers.test")
        #expect(missing.status == 6 && missing.errors.contains("no such host"), "\(missing.text)")
    }

    @Test func aServerThatIsNotThere() async throws {
        let closed = try ScriptedServer { _ throws(PeerError) in }
        closed.stop()
        let run = try await Tool.run([
            "resolve", "--server", "127.0.0.1:\(closed.port)", "--tcp", "--type", "A", "x.test",
        ])
        #expect(
            run.status == 7 && run.errors == "netkit: DNS server 127.0.0.1:\(closed.port) cannot be reached\n",
            "\(run.text)")
        let silent = try ScriptedNameServer { _ in [] }
        let late = try await Tool.run(
            ["resolve", "--server", "127.0.0.1:\(silent.port)", "--timeout", "0.5", "--type", "A", "x.test"])
        #expect(late.status == 28 && late.errors.contains("timed out"), "\(late.text)")
    }

    @Test(arguments: ["ANY", "B", "TYPE65536", "OPT", "MX,B"]) func invalidTypes(_ type: String) async throws {
        let run = try await Tool.run(["resolve", "--type", type, "x.test"])
        #expect(run.status == 64 && run.errors.contains("--type"), "\(run.text)")
    }
}
