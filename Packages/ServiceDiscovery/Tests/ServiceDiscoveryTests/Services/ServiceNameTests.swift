import DNSWire
import Foundation
import Testing

@testable import ServiceDiscovery

@Suite struct ServiceNameTests {
    // Parity: SD-004
    @Test(arguments: [
        "_http._tcp", "_http._tcp.", "_HTTP._TCP", "_a._udp", "_123456789-abcde._tcp", "_ipp._tcp,_print",
        "_x-y-z._tcp", "_1a._tcp", "_http._tcp,printer,a b",
    ])
    func acceptsTypes(text: String) throws {
        let type = try ServiceType(text)
        #expect(try ServiceType(type.description) == type)
    }

    // Parity: SD-004
    @Test(arguments: [
        "", "http._tcp", "_http", "_http._sctp", "_http.tcp", "_._tcp", "_1234567890-abcde._tcp", "_12345._tcp",
        "_-a._tcp", "_a-._tcp", "_a--b._tcp", "_a_b._tcp", "_ä._tcp", "_http._tcp.local", "_http._tcp,", "_a b._tcp",
        "_http._tcp..", "._http._tcp",
    ])
    func refusesTypes(text: String) {
        let error = #expect(throws: ServiceDiscoveryError.self) { try ServiceType(text) }
        #expect(error?.code == .invalidType && error?.number == -72004)
    }

    /// Programs in C use labels that break the rules.
    @Test(arguments: [
        "_barrierServerZeroconf._tcp", "_nvstream_dbd._tcp", "_a--b._tcp", "_1a._udp",
        "_" + String(repeating: "a", count: 62) + "._tcp",
    ])
    func acceptsTypesOfPrograms(text: String) throws {
        let type = try ServiceType(browsedByProgram: text)
        #expect(type.description == text)
        #expect(try ServiceType(registeredByProgram: text) == type)
        let service = try ServiceInstance(name: "a", type: type)
        #expect(ServiceInstance(fullName: service.fullName) == service)
    }

    @Test(arguments: ["", "a._tcp", "_._tcp", "_a", "_a._sctp", "_" + String(repeating: "a", count: 63) + "._tcp"])
    func refusesTypesOfPrograms(text: String) {
        let browsed = #expect(throws: ServiceDiscoveryError.self) { try ServiceType(browsedByProgram: text) }
        let registered = #expect(throws: ServiceDiscoveryError.self) { try ServiceType(registeredByProgram: text) }
        #expect(browsed?.code == .invalidType && registered?.code == .invalidType)
    }

    /// Services of other hosts may have labels that no program may register.
    @Test(arguments: ["_1._udp", "_-a._tcp", "_a-._tcp", "_a_._tcp", "__a._tcp", "_ä._tcp", "_a b._tcp", "_a!._tcp"])
    func browsesMoreTypesThanItRegisters(text: String) throws {
        #expect(try ServiceType(browsedByProgram: text).description == text)
        let error = #expect(throws: ServiceDiscoveryError.self) { try ServiceType(registeredByProgram: text) }
        #expect(error?.code == .invalidType)
    }

    @Test func comparesTypesWithoutCase() throws {
        #expect(try ServiceType("_Http._Tcp,_A") == ServiceType("_http._tcp,_a"))
        #expect(try Set([ServiceType("_HTTP._tcp"), ServiceType("_http._tcp")]).count == 1)
        #expect(try ServiceType("_http._tcp") != ServiceType("_http._udp"))
        #expect(try ServiceType("_http._tcp,_a").base == ServiceType("_http._tcp"))
    }

    @Test func limitsSubtypes() throws {
        let most = String(repeating: ",_s", count: ServiceType.maximumSubtypes)
        #expect(try ServiceType("_a._tcp" + most).subtypes.count == ServiceType.maximumSubtypes)
        #expect(throws: ServiceDiscoveryError.self) { try ServiceType("_a._tcp,_s" + most) }
    }

    // Parity: SD-005
    @Test(arguments: ["a", "a.b\\c", "Büro · 2. Stock", "🖨", " ", String(repeating: "x", count: 63)])
    func acceptsNames(name: String) throws {
        let service = try ServiceInstance(name: name, type: ServiceType("_ipp._tcp,_s"))
        #expect(service.fullName.labels.first == Array(name.utf8))
        #expect(ServiceInstance(fullName: service.fullName) == service)
        #expect(ServiceInstance(fullName: DNSName(service.fullName.description)!) == service)
        let saved = try JSONEncoder().encode(service)
        #expect(try JSONDecoder().decode(ServiceInstance.self, from: saved) == service)
    }

    // Parity: SD-005
    @Test(arguments: ["", String(repeating: "x", count: 64), String(repeating: "ü", count: 32), "a\nb", "\u{7f}"])
    func refusesNames(name: String) throws {
        let type = try ServiceType("_ipp._tcp")
        let error = #expect(throws: ServiceDiscoveryError.self) { try ServiceInstance(name: name, type: type) }
        #expect(error?.code == .invalidName && error?.number == -72004)
    }

    // Parity: SD-005
    @Test func escapesForDisplay() throws {
        let service = try ServiceInstance(name: "a.b\\c", type: ServiceType("_http._tcp"))
        #expect(service.description == "a\\.b\\\\c._http._tcp.local.")
    }

    @Test(arguments: [
        "_http._tcp.local", "x._http._sctp.local", "x._http._tcp", "x.http._tcp.local", "\\255._http._tcp.local",
    ])
    func refusesOtherNames(text: String) {
        #expect(ServiceInstance(fullName: DNSName(text)!) == nil)
    }

    @Test func refusesTooLongFullNames() throws {
        let label = String(repeating: "d", count: 60)
        let domain = try ServiceDomain("\(label).\(label).\(label)")
        #expect(throws: ServiceDiscoveryError.self) {
            try ServiceInstance(
                name: String(repeating: "n", count: 63), type: ServiceType("_http._tcp"), domain: domain)
        }
    }

    @Test func parsesDomains() throws {
        #expect(try ServiceDomain("LOCAL.") == .local)
        #expect(try ServiceDomain("example.org").description == "example.org.")
        #expect(throws: ServiceDiscoveryError.self) { try ServiceDomain("a..b") }
        #expect(throws: ServiceDiscoveryError.self) { try ServiceDomain("") }
    }

    @Test func errorsHaveSentences() {
        #expect(
            ServiceDiscoveryError(.invalidName, name: "a\u{1b}b", detail: "no").description
                == "not a valid service name: a\\u{1b}b (no)")
        let error = ServiceDiscoveryError(.collision, name: "Printer")
        #expect(error.sentence.key == "discovery.collision")
        #expect(error.description == "the name is taken by another service: Printer")
    }
}
