internal import BenchmarkRows
internal import CMeasure
internal import HTTPMessage
internal import NetKit
internal import StreamKit

/// 4a: sends GET requests on one kept connection, on the calling thread.
let requests = Row("requests") { arguments in
    let count = arguments.number("count")
    let request = try makeRequest(arguments)
    let pool = HTTPConnectionPool()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    _ = try get(request, in: pool, into: &buffer)  // opens the connection
    var bytes = 0
    measure_begin()
    for _ in 0..<count { bytes += try get(request, in: pool, into: &buffer) }
    measure_end(Double(count), Double(bytes))
}

private func get(_ request: HTTPRequest, in pool: HTTPConnectionPool, into buffer: inout [UInt8]) throws -> Int {
    let stream = try openStream(for: request, in: pool)
    var bytes = 0
    while case let count = try stream.read(into: &buffer), count > 0 { bytes += count }
    guard stream[.httpResponse]?.status == .ok else { stop("the status is not 200") }
    return bytes
}
