import HostResolver
import Testing

@testable import ServiceDiscovery

/// SD-006, SD-007: the name of a service without a name.
@Suite struct ComputerNameTests {
    // Parity: SD-007
    @Test(arguments: [
        ("PRETTY_HOSTNAME=Desk", "Desk"), ("A=1\nPRETTY_HOSTNAME=\"Anna's desk\"\nB=2\n", "Anna's desk"),
        ("PRETTY_HOSTNAME='a \\ b'", "a \\ b"), ("PRETTY_HOSTNAME=\"a \\\"b\\\" \\$c\"", "a \"b\" $c"),
        ("PRETTY_HOSTNAME=Büro\\ 2", "Büro 2"), ("PRETTY_HOSTNAME=old\nPRETTY_HOSTNAME=new", "new"),
        ("PRETTY_HOSTNAME=\"open", "open"), ("PRETTY_HOSTNAME=a\\", "a"),
    ]) func readsPrettyHostName(_ text: String, _ name: String) {
        #expect(ComputerName.pretty(text) == name)
    }

    @Test(arguments: [
        "", "PRETTY_HOSTNAME=", "PRETTY_HOSTNAME=\"\"", "PRETTY_HOSTNAME=' '", "#PRETTY_HOSTNAME=x", "PRETTY_HOSTNAME",
        "PRETTY_HOSTNAME=a\u{1}b", " PRETTY_HOSTNAME=x",
    ]) func ignoresInvalidNames(_ text: String) {
        #expect(ComputerName.pretty(text) == nil)
    }

    @Test func fitsAServiceName() throws {
        #expect(ComputerName.fitting(String(repeating: "ü", count: 40)) == String(repeating: "ü", count: 31))
        #expect(ComputerName.fitting("") == "computer")
        _ = try ServiceInstance(name: ComputerName.current, type: ServiceType("_http._tcp"))
    }

    // Parity: SD-006
    @Test func isTheDefaultServiceName() throws {
        let engine = ScriptedEngine()
        let nameless = ServiceAdvertisement(type: try ServiceType("_http._tcp"), port: 80)
        let publisher = try ServicePublisher(nameless, engine: DiscoveryEngine(engine))
        #expect(engine.calls == ["publish \(ComputerName.current)"])
        #expect(publisher.advertisement.name.isEmpty)
    }
}

@Suite struct NameSuccessionTests {
    @Test(arguments: [
        ("Printer", "Printer (2)"), ("Printer (2)", "Printer (3)"), ("Printer (9)", "Printer (10)"),
        ("Printer (1)", "Printer (1) (2)"), ("Printer(2)", "Printer(2) (2)"), ("(2)", "(2) (2)"), (" (2)", " (2) (2)"),
        ("P (02)", "P (02) (2)"), ("P (9999999)", "P (9999999) (2)"), ("🖨", "🖨 (2)"),
    ])
    func services(name: String, next: String) {
        #expect(NameSuccession.afterService(name) == next)
    }

    @Test(arguments: [
        ("host", "host-2"), ("host-2", "host-3"), ("host-1", "host-1-2"), ("my-host", "my-host-2"), ("-2", "-2-2"),
    ])
    func hosts(name: String, next: String) {
        #expect(NameSuccession.afterHost(name) == next)
    }

    // Parity: SD-111
    @Test func staysWithin63Bytes() {
        var name = String(repeating: "ü", count: 31) + "x"
        #expect(name.utf8.count == 63)
        for _ in 0..<200 {
            name = NameSuccession.afterService(name)
            #expect(name.utf8.count <= 63)
        }
        #expect(name.hasSuffix(" (201)"))
        #expect(name.hasPrefix(String(repeating: "ü", count: 28)))
        #expect(NameSuccession.afterHost(String(repeating: "h", count: 63)).utf8.count == 63)
    }
}
