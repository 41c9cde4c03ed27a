import HostResolver
import Testing

@testable import ServiceDiscovery

/// SD-006, SD-007: what a service without a name is called.
@Suite struct ComputerNameTests {
    @Test(arguments: [
        ("PRETTY_HOSTNAME=Desk", "Desk"), ("A=1\nPRETTY_HOSTNAME=\"Anna's desk\"\nB=2\n", "Anna's desk"),
        ("PRETTY_HOSTNAME='a \\ b'", "a \\ b"), ("PRETTY_HOSTNAME=\"a \\\"b\\\" \\$c\"", "a \"b\" $c"),
        ("PRETTY_HOSTNAME=Büro\\ 2", "Büro 2"), ("PRETTY_HOSTNAME=old\nPRETTY_HOSTNAME=new", "new"),
        ("PRETTY_HOSTNAME=\"open", "open"), ("PRETTY_HOSTNAME=a\\", "a"),
    ]) func reads(_ text: String, _ name: String) {
        #expect(ComputerName.pretty(text) == name)
    }

    @Test(arguments: [
        "", "PRETTY_HOSTNAME=", "PRETTY_HOSTNAME=\"\"", "PRETTY_HOSTNAME=' '", "#PRETTY_HOSTNAME=x", "PRETTY_HOSTNAME",
        "PRETTY_HOSTNAME=a\u{1}b", " PRETTY_HOSTNAME=x",
    ]) func findsNone(_ text: String) {
        #expect(ComputerName.pretty(text) == nil)
    }

    @Test func fitsIntoAServicesName() throws {
        #expect(ComputerName.fitting(String(repeating: "ü", count: 40)) == String(repeating: "ü", count: 31))
        #expect(ComputerName.fitting("") == "computer")
        _ = try ServiceInstance(name: ComputerName.current, type: ServiceType("_http._tcp"))
    }

    @Test func namesWhatIsPublishedWithoutAName() throws {
        let backend = ScriptedBackend()
        let nameless = ServiceAdvertisement(type: try ServiceType("_http._tcp"), port: 80)
        let publisher = try ServicePublisher(nameless, engine: DiscoveryEngine(backend))
        #expect(backend.calls == ["publish \(ComputerName.current)"])
        #expect(publisher.advertisement.name.isEmpty)
    }
}
