import Foundation
import NetKitFoundation

/// Services on the loopback interface, without a daemon.
enum Services {
    private static let embedded = EmbeddedEngine(interfaces: ["lo"])
    private static let engine = DiscoveryEngine.embedded(embedded)

    /// Publishes a greeting service while `body` searches for it.
    private static func publishing(_ name: String, _ body: (ServiceInstance) async throws -> String) async throws
        -> String
    {
        let listener = try StreamListener(port: 0, isLocal: false)
        let serving = Task {
            try await listener.run { client in
                try? await client.output.writeAll(Array("welcome".utf8))
                try? await client.output.finish()
            }
        }
        defer { serving.cancel() }
        let publisher = try ServicePublisher(
            ServiceAdvertisement(name: name, type: try ServiceType("_tour._tcp"), port: listener.port ?? 0),
            engine: engine)
        defer { publisher.stop() }
        let story = try await body(try await publisher.published())
        listener.stop(within: .zero)
        try await serving.value
        return story
    }

    static func find() async throws -> String {
        try await publishing("Greeter") { _ in
            let search = try ServiceBrowser(try ServiceType("_tour._tcp"), engine: engine).start()
            defer { search.stop() }
            guard let found = try await search.next(until: .now + .seconds(20)) else {
                throw Surprise("nothing is there")
            }
            let pair = StreamPair(service: found.value, engine: engine)
            try pair.open()
            let received = String(decoding: try await pair.input.readAll(limit: 100), as: UTF8.self)
            let host = pair[.remoteHostName] ?? "?"
            pair.close()
            return "published, found and resolved '\(found.value.name)' at \(host); its stream says '\(received)'"
        }
    }

    static func connectAsFoundationDoes() async throws -> String {
        try await publishing("Host. 2") { instance in
            let service = NetService(domain: "local.", type: "_tour._tcp", name: instance.name, engine: engine)
            var input: InputStream?
            guard service.getInputStream(&input, outputStream: nil), let input else { throw Surprise("no streams") }
            input.open()
            defer { input.close() }
            var buffer = [UInt8](repeating: 0, count: 100)
            let count = max(0, input.read(&buffer, maxLength: buffer.count))
            return
                "NetService.getInputStream hears '\(String(decoding: buffer[..<count], as: UTF8.self))' from '\(service.name)'"
        }
    }
}
