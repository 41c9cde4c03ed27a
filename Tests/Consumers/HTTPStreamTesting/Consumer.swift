import FoundationEssentials
import HTTPStreamTesting

/// Tests its own code: a client that reads a price and tries again while the service is down.
@main struct Consumer {
    static func main() async throws {
        guard let url = URL(string: "https://prices.example/milk") else { return }
        let (server, clock) = (TestServer(), ManualClock())
        try server.enqueue(.serviceUnavailable, fields: ["Retry-After": "20"])
        try server.enqueue(.ok, fields: ["Content-Type": "application/json"], text: #"{"price": 99}"#)
        var configuration = HTTPSession.Configuration()
        configuration.retries = RetryPolicy(maximumRetries: 1)
        let session = HTTPSession(server.configuration(configuration, clock: clock))
        async let price = Prices(session: session).price(at: url)
        await clock.waitForPause()
        clock.advance(by: .seconds(20))
        print("price: \(try await price), requests: \(server.requests.map { "\($0.method) \($0.url)" })")
    }
}

/// The code under test.
struct Prices {
    struct Answer: Decodable { var price: Int }
    var session: HTTPSession

    func price(at url: URL) async throws -> Int { try await session.get(url).decode(Answer.self).price }
}
