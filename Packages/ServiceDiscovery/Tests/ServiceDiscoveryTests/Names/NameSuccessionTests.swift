import Testing

@testable import ServiceDiscovery

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
