internal import AsyncHTTPClient
internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOHTTP1

/// Sends GET requests on kept connections, several at once.
let requestsRow = Row(async: "requests") { try await measureRequests($0, version: .http1Only) }

/// Sends GET requests, several at once, on one connection of HTTP/2 if the server chooses it.
let requestsHTTP2Row = Row(async: "requests-http2") { try await measureRequests($0, version: .automatic) }

private func measureRequests(
    _ arguments: Arguments, version: HTTPClient.Configuration.HTTPVersion
) async throws {
    let connections = arguments.number("connections")
    let each = arguments.number("count") / connections
    try await withClient(arguments, connections: connections, version: version) { client in
        let request = HTTPClientRequest(url: arguments.text("url"))
        for _ in 0..<8 { _ = try await get(request, by: client) }
        measure_begin()
        let bytes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<connections {
                group.addTask {
                    var bytes = 0
                    for _ in 0..<each { bytes += try await get(request, by: client) }
                    return bytes
                }
            }
            return try await group.reduce(0, +)
        }
        measure_end(Double(each * connections), Double(bytes))
    }
}

/// Sends GET requests, each on a new connection with a new TLS session (this client does not resume sessions).
let handshakesRow = Row(async: "handshakes") { arguments in
    let count = arguments.number("count")
    try await withClient(arguments) { client in
        var request = HTTPClientRequest(url: arguments.text("url"))
        request.headers.add(name: "Connection", value: "close")
        var bytes = 0
        measure_begin()
        for _ in 0..<count { bytes += try await get(request, by: client) }
        measure_end(Double(count), Double(bytes))
    }
}

private func get(_ request: HTTPClientRequest, by client: HTTPClient) async throws -> Int {
    let response = try await client.execute(request, timeout: .seconds(5))
    guard response.status == .ok else { stop("status \(response.status)") }
    return try await response.body.collect(upTo: 1 << 16).readableBytes
}
