import EventLoops
import HTTP2
import HTTPMessage
import HTTPStreamTesting
import HostResolver
import StreamKit
import Testing

@testable import HTTPStream

/// Each field of a server's configuration changes what a client sees.
@Suite(.timeLimit(.minutes(5))) struct ServerConfigurationTests {
    typealias Change = @Sendable (inout HTTPServer.Configuration) -> Void
    /// The actions of a client, and its observations; the second argument is whether the field was changed.
    typealias Client = @Sendable (StreamPair, Bool) async throws -> String

    /// A field, the actions of a client, and its observations with the default, or a time limit that does not end, and with another value.
    struct Row: Sendable, CustomTestStringConvertible {
        let field: String
        let client: Client
        let usual: String
        let changed: String
        /// Set in both configurations, so that the field has an effect.
        var both: Change = { _ in }
        let change: Change
        var handler: HTTPServer.Handler = { try await $0.respond(.ok) }
        /// What the client has sent before the server serves the connection, then without a listener.
        var sent: String?

        var testDescription: String { field }
    }

    @Test(arguments: rows)
    func changesTheOutcome(_ row: Row) async throws {
        for (isChanged, expected) in [(false, row.usual), (true, row.changed)] {
            var configuration = HTTPServer.Configuration.patient
            configuration.hosts = .any
            row.both(&configuration)
            if isChanged { row.change(&configuration) }
            if let sent = row.sent {
                let found = try await HTTPServer.serving(sent, { $0 = configuration }, answering: row.handler) { pair in
                    try await row.client(pair, isChanged)
                }
                #expect(found == expected)
                continue
            }
            let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
            let port = try #require(server.port)
            let running = Task { try await server.run(row.handler) }
            let pair = StreamPair(address: .ip(.v4(.loopback), port: port))
            try pair.open()
            #expect(try await row.client(pair, isChanged) == expected)
            pair.close()
            server.stop(within: .zero)
            try await running.value
        }
    }

    @Test func eachFieldHasARow() {
        let fields = Mirror(reflecting: HTTPServer.Configuration()).children.compactMap(\.label)
        // With the trait Tracing there is a tracer, which HTTPStreamTestingTests tests.
        #expect(Set(Self.rows.map(\.field)) == Set(fields).subtracting(["tracer"]))
    }

    @Test(
        "a property of connections that the configuration decides is refused",
        arguments: ["readTimeout", "writeTimeout", "tls"])
    func decidedProperties(_ property: String) {
        var configuration = HTTPServer.Configuration()
        switch property {
        case "readTimeout": configuration.connections.properties[.readTimeout] = .seconds(1)
        case "writeTimeout": configuration.connections.properties[.writeTimeout] = .seconds(1)
        default:
            var other = TLSConfiguration()
            other.minimumVersion = .tls13
            configuration.connections.tls = TLSConfiguration()
            configuration.connections.properties[.tls] = other
        }
        do throws(StreamError) {
            _ = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
            Issue.record("accepted")
        } catch {
            #expect(error.domain == .posix && error.code == 22)
        }
    }

    // MARK: Clients

    private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    /// The statuses and bodies of the responses until the end.
    private static func statuses(_ pair: StreamPair) async throws -> String {
        var bytes: [UInt8] = []
        do throws(StreamError) {
            while case let more = try await pair.input.read(upTo: 65536), !more.isEmpty { bytes += more }
        } catch {
            // A reset: the bytes received before count.
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(separator: "\r\n").filter { $0.hasPrefix("HTTP/1.1 ") }
            .map { String($0.dropFirst(9).prefix(3)) }.joined(separator: " ")
    }

    /// Sends one part, and then another unless the field was changed. Returns the statuses.
    private static func sending(_ first: String, then second: String = "") -> Client {
        { pair, isChanged in
            try await pair.output.writeAll(Array(first.utf8))
            if !isChanged { try await pair.output.writeAll(Array(second.utf8)) }
            return try await statuses(pair)
        }
    }

    private static let otherLoop = EventLoop(name: "other")
    private static let written = Locked<[String]>([])
    private static let errors = Locked(0)
    private static let records = Locked<[String]>([])
    private static let permissions = AsyncStream<Void>.makeStream()

    static let rows: [Row] = [
        Row(
            field: "versions", client: sending(last), usual: "200", changed: "505", change: { $0.versions = .http2 }),
        Row(
            field: "acceptsPriorKnowledge",
            client: { pair, _ in
                try await pair.output.writeAll(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
                return try await pair.input.read(upTo: 5) == Array("HTTP/".utf8) ? "HTTP/1.1" : "HTTP/2"
            }, usual: "HTTP/1.1", changed: "HTTP/2", change: { $0.acceptsPriorKnowledge = true }),
        Row(
            field: "maximumStreamsPerConnection",
            client: { pair, _ in
                let client = HTTP2Client(pair)
                try await client.run { $0.events.contains(.settings) }
                return "\(client.machine.peerSettings.maximumConcurrentStreams ?? 0)"
            }, usual: "100", changed: "1", both: { $0.acceptsPriorKnowledge = true },
            change: { $0.maximumStreamsPerConnection = 1 }),
        Row(
            field: "hosts", client: sending(last), usual: "200", changed: "421",
            change: { $0.hosts = .names(["b"]) }),
        Row(
            field: "connections", client: sending(last), usual: "404", changed: "200",
            change: { $0.connections.loops = [otherLoop] },
            handler: { try await $0.respond(otherLoop.isCurrent ? .ok : .notFound) }),
        Row(
            field: "limits", client: sending(last), usual: "200", changed: "431", change: { $0.limits.fieldCount = 1 }),
        Row(
            field: "headTimeout", client: sending("", then: "Host: a\r\nConnection: close\r\n\r\n"), usual: "200",
            changed: "408", change: { $0.headTimeout = .zero },
            sent: "GET / HTTP/1.1\r\n"),
        Row(
            field: "idleTimeout", client: sending(get, then: last), usual: "200 200", changed: "200",
            change: { $0.idleTimeout = .milliseconds(50) }),
        Row(
            field: "bodyTimeout",
            client: sending("PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\na", then: "b"),
            usual: "200", changed: "408", change: { $0.bodyTimeout = .milliseconds(50) },
            handler: { exchange in
                _ = try await exchange.body()
                try await exchange.respond(.ok)
            }),
        Row(
            // The handler waits for a permission, which the client gives only if the field was not changed.
            field: "halfClosedTimeout",
            client: { pair, isChanged in
                try await pair.output.writeAll(Array(last.utf8))
                try await pair.output.finish()
                if !isChanged { permissions.continuation.yield() }
                return try await statuses(pair)
            },
            usual: "200", changed: "", change: { $0.halfClosedTimeout = .milliseconds(1) },
            handler: { exchange in
                for await _ in permissions.stream { break }
                try await exchange.respond(.ok)
            }),
        Row(
            // Each byte is sent when the previous one has been read: each wait is short, but their sum is long.
            field: "minimumBodyRate",
            client: { pair, isChanged in
                let count = isChanged ? 1_000_000 : 3
                let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
                try await pair.output.writeAll(Array(head.utf8))
                var sent = 0
                do throws(StreamError) {
                    while sent < count, try await !pair.input.read(upTo: 1000).isEmpty {
                        sent += try await pair.output.write([32])
                    }
                } catch {
                    // The connection was closed in the middle.
                }
                return sent == count ? "whole" : "cut off"
            }, usual: "whole", changed: "cut off",
            change: {
                $0.minimumBodyRate = .max
                $0.bodyTimeout = .milliseconds(50)
            },
            handler: { exchange in
                try await exchange.begin(HTTPResponse(status: .ok))
                while case let piece = try await exchange.readBody(), !piece.isEmpty { try await exchange.write([33]) }
            }),
        Row(
            field: "writeTimeout",
            client: { pair, isChanged in
                written.withLock { $0 = [] }
                let target = isChanged ? "long" : "short"
                try await pair.output.writeAll(
                    Array("GET /\(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
                if !isChanged { _ = try await statuses(pair) }
                while !Task.isCancelled {
                    if let outcome = written.withLock(\.first) { return outcome }
                    await Task.yield()
                }
                return "nothing"
            }, usual: "written", changed: "timed out", change: { $0.writeTimeout = .milliseconds(50) },
            handler: { exchange in
                let response = try HTTPResponse(status: .ok)
                do throws(StreamError) {
                    try await exchange.begin(response)
                    // More than the buffers of two sockets hold.
                    for _ in 0..<("\(exchange.request.target)" == "/long" ? 32 : 1) {
                        try await exchange.write([UInt8](repeating: 65, count: 1 << 20))
                    }
                    written.withLock { $0.append("written") }
                } catch {
                    written.withLock { $0.append(error == .timedOut ? "timed out" : "\(error)") }
                    throw error
                }
            }),
        Row(
            // The client reads continuously: each wait is short, but their sum is long.
            field: "minimumResponseRate",
            client: { pair, isChanged in
                let target = isChanged ? "endless" : "short"
                let request = "GET /\(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                try await pair.output.writeAll(Array(request.utf8))
                var last: [UInt8] = []
                do throws(StreamError) {
                    while case let more = try await pair.input.read(upTo: 65536), !more.isEmpty {
                        last = (last + more).suffix(5)
                    }
                } catch {
                    // The connection was closed in the middle.
                }
                return last == Array("0\r\n\r\n".utf8) ? "whole" : "cut off"
            }, usual: "whole", changed: "cut off",
            change: {
                $0.minimumResponseRate = .max
                $0.writeTimeout = .milliseconds(50)
            },
            handler: { exchange in
                try await exchange.begin(HTTPResponse(status: .ok))
                let piece = [UInt8](repeating: 65, count: 1 << 20)
                repeat { try await exchange.write(piece) } while "\(exchange.request.target)" == "/endless"
            }),
        Row(
            field: "unreadLength",
            client: sendingAll("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n\(filler)\(last)"),
            usual: "200 200", changed: "200", change: { $0.unreadLength = 99 }),
        Row(
            // After its last response the server reads what the client still sends, for a limited time; then it resets the
            // connection.
            field: "lingerTimeout",
            client: { pair, isChanged in
                try await pair.output.writeAll(Array("nonsense\r\n\r\n".utf8))
                guard try await statuses(pair) == "400" else { return "no refusal" }
                do throws(StreamError) {
                    for _ in 0..<(isChanged ? 1_000_000 : 3) {
                        _ = try await pair.output.write([65])
                        await Task.yield()
                    }
                    return "taken"
                } catch {
                    return "reset"
                }
            }, usual: "taken", changed: "reset", both: { $0.lingerTimeout = .seconds(3600) },
            change: { $0.lingerTimeout = .zero }),
        Row(
            field: "maximumLongLivedConnections",
            client: sending("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"), usual: "101",
            changed: "503", change: { $0.maximumLongLivedConnections = 0 },
            handler: { try await $0.switchProtocols(to: "echo").pair.close() }),
        Row(
            field: "keepsConnections", client: sendingAll(get + last), usual: "200 200", changed: "200",
            change: { $0.keepsConnections = false }),
        Row(
            field: "onError",
            client: { pair, _ in
                errors.withLock { $0 = 0 }
                try await pair.output.writeAll(Array(last.utf8))
                return "\(try await statuses(pair)) \(errors.withLock { $0 })"
            }, usual: "500 0", changed: "500 1", change: { $0.onError = { _ in errors.withLock { $0 += 1 } } },
            handler: { _ in throw CancellationError() }),
        Row(
            field: "onResponse",
            client: { pair, _ in
                records.withLock { $0 = [] }
                try await pair.output.writeAll(Array((get + last).utf8))
                return "\(try await statuses(pair)) \(records.withLock { $0.joined(separator: ", ") })"
            }, usual: "200 200 ", changed: "200 200 200 / 3 true, 200 / 3 true",
            change: {
                $0.onResponse = { record in
                    let text =
                        "\(record.status?.code ?? 0) \(record.request?.target.path ?? "") \(record.bodyLength) \(record.isComplete)"
                    records.withLock { $0.append(text) }
                }
            }, handler: { try await $0.respond(.ok, body: Array("a\r\n".utf8)) }),
    ]

    private static let filler = String(repeating: "x", count: 100)

    private static func sendingAll(_ text: String) -> Client {
        { pair, _ in
            try await pair.output.writeAll(Array(text.utf8))
            return try await statuses(pair)
        }
    }
}
