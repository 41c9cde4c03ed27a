import NetKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServiceStreamTests {
    // Parity: SK-012
    @Test("SK-012: a stream requires _tcp: a service over UDP is refused")
    func datagrams() async throws {
        let service = try ServiceInstance(name: "Clock", type: try ServiceType("_ntp._udp"))
        let pair = StreamPair(service: service, engine: .embedded)
        #expect(pair.input.status == .notOpen && pair.report.steps.isEmpty, "nothing is asked before open")
        try pair.open()
        do throws(StreamError) {
            try await pair.input.opened()
            Issue.record("it opened")
        } catch {
            #expect(error.domain == .netServices && error.networkErrorNumber == .serviceBadArgument)
            #expect("\(error)".contains("Clock._ntp._udp.local:") && "\(error)".contains("a stream requires _tcp"))
            #expect((error.underlying as? ServiceDiscoveryError)?.code == .invalidType)
        }
    }

    // Parity: SK-059
    @Test("SK-059: a pair knows its service, before and after close")
    func remoteService() throws {
        let service = try ServiceInstance(name: "Office", type: try ServiceType("_ipp._tcp"))
        let pair = StreamPair(service: service, engine: .embedded)
        #expect(pair[.remoteService] == service && pair.output[.remoteService] == service)
        pair.close()
        #expect(pair[.remoteService] == service)
        #expect(StreamPair(host: "localhost", port: 1)[.remoteService] == nil)
    }

    // Parity: SK-048
    @Test("SK-048: the numbers of HTTP are the same everywhere", arguments: HTTPErrorNumber.allCases)
    func numbers(_ number: HTTPErrorNumber) {
        let error = StreamError(domain: .http, code: number.rawValue, sentence: Sentence("test", "test"))
        #expect(error.networkErrorNumber?.rawValue == number.cfErrorCode)
    }

    // Parity: SK-048
    @Test("SK-048: so are those of proxies", arguments: HTTPErrorNumber.ProxyError.allCases)
    func proxies(_ number: HTTPErrorNumber.ProxyError) {
        let error = StreamError(domain: .http, code: number.rawValue, sentence: Sentence("test", "test"))
        #expect(error.networkErrorNumber?.rawValue == number.rawValue)
    }
}
