import FoundationEssentials
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// The scripts of servers that one configuration trusts are not used for other configurations, and are bounded in number.
@Suite(.timeLimit(.minutes(5))) struct ProxyScriptStoreTests {
    private static let script = "function FindProxyForURL(url, host) { return 'PROXY chosen.test:1'; }"
    private static let response = "HTTP/1.1 200 OK\r\nContent-Length: \(script.utf8.count)\r\n\r\n\(script)"

    @Test("a script of a server with a private root is loaded with the settings' trust, and for them only")
    func trust() async throws {
        let server = try TurnServer([Self.response, Self.response], tls: TestIdentity.server())
        let source = ProxyScriptSource.url("https://127.0.0.1:\(server.port)/proxy.pac")
        var settings = ProxySettings()
        settings.script = source
        let strangers = settings
        settings.tls = try TestIdentity.trusted()
        let store = ProxyScriptStore.patient
        let url = try #require(URL(string: "http://www.test/"))
        for _ in 0..<2 {
            let routes = try await settings.resolvedRoutes(for: url, scripts: store)
            #expect(routes.map(\.description) == ["HTTP chosen.test:1"])
            let error = await #expect(throws: StreamError.self) {
                try await strangers.resolvedRoutes(for: url, scripts: store)
            }
            #expect(error?.code == 308 && (error?.underlying as? StreamError)?.domain == .ssl)
            #expect(error?.reason == .scriptUnreachable)
        }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [(401, 309), (404, 308), (500, 308)])
    func aResponseWithoutAScriptHasItsReason(_ status: Int, _ code: Int) async throws {
        let server = try TurnServer(["HTTP/1.1 \(status) No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"])
        let error = await #expect(throws: StreamError.self) {
            try await ProxyScriptStore.patient.script(.url("http://127.0.0.1:\(server.port)/proxy.pac"))
        }
        #expect(error?.domain == .http && error?.code == code && error?.reason == .scriptMissing)
    }

    @Test("a store with too many scripts forgets them") func bounded() async throws {
        let most = ProxyScriptStore.maximumScripts
        let server = try TurnServer(Array(repeating: Self.response, count: most + 3))
        let store = ProxyScriptStore.patient
        // The first one again while it is kept, and after it was forgotten.
        for number in Array(0..<most) + [0, most, 0] {
            _ = try await store.script(.url("http://127.0.0.1:\(server.port)/\(number).pac"))
        }
        #expect(server.requests.count == most + 2)
    }
}

extension ProxyScriptStore {
    /// A store whose limits no script of a test exceeds, however slow the machine is.
    static var patient: ProxyScriptStore { ProxyScriptStore(loadTimeout: .seconds(3600), runTimeout: .seconds(3600)) }
}
