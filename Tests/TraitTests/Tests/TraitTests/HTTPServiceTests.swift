import EventLoops
import FoundationEssentials
import HTTPServerKit
import Logging
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPServiceTests {
    @Test func aGracefulShutdownLetsTheRequestEnd() async throws {
        let server = try HTTPServer(port: 0, isLocal: true)
        let (arrived, mayRespond) = (OneShot<Void>(), OneShot<Void>())
        var router = Router()
        router.get("/") { call in
            arrived.provide(())
            try await mayRespond.value()
            try await call.respond(text: "done")
        }
        let group = ServiceGroup(services: [HTTPService(server, router)], logger: Logger(label: "test"))
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port ?? 0)/"))
        async let running: Void = group.run()
        async let response = HTTPSession().get(url)
        try await arrived.value()
        await group.triggerGracefulShutdown()
        while server.port != nil, !Task.isCancelled { await Task.yield() }
        mayRespond.provide(())
        #expect(try await response.text == "done")
        try await running
    }
}
