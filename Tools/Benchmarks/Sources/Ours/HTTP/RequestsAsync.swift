internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import HTTPMessage
internal import NetKit
internal import StreamKit

/// 4a and 4b: sends GET requests on kept connections, several at once, in tasks on the event loop.
let requestsAsync = Row(async: "requests-async") { arguments in
    let connections = arguments.number("connections")
    let each = arguments.number("count") / connections
    let request = try makeRequest(arguments)
    let pool = HTTPConnectionPool(limits: .init(perOrigin: connections))
    try await withNetworkExecutor {
        _ = try await getOften(1, request, in: pool)
        measure_begin()
        let bytes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<connections {
                group.addTask { try await getOften(each, request, in: pool) }
            }
            return try await group.reduce(0, +)
        }
        measure_end(Double(each * connections), Double(bytes))
    }
}

private func getOften(_ count: Int, _ request: HTTPRequest, in pool: HTTPConnectionPool) async throws -> Int {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var bytes = 0
    for _ in 0..<count {
        let stream = try openStream(for: request, in: pool)
        while case let received = try await stream.read(into: &buffer), received > 0 { bytes += received }
        guard stream[.httpResponse]?.status == .ok else { stop("the status is not 200") }
    }
    return bytes
}
