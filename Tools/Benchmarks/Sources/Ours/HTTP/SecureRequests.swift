internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import HTTPMessage
internal import NetKit
internal import StreamKit

/// 12a: sends GET requests over TLS, one at a time, on the calling thread. `versions=` is http1 or http2.
let secureRequests = Row("secure-requests") { arguments in
    let client = try SecureClient(arguments)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    _ = try client.get(into: &buffer)  // opens the connection
    var bytes = 0
    measure_begin()
    for _ in 0..<client.count { bytes += try client.get(into: &buffer) }
    measure_end(Double(client.count), Double(bytes))
}

/// 12a to 12c: sends GET requests over TLS, one or several at once, in tasks on the event loop.
let secureRequestsAsync = Row(async: "secure-requests-async") { arguments in
    let connections = arguments.number("connections")
    let client = try SecureClient(arguments, connections: connections)
    let each = client.count / connections
    try await withNetworkExecutor {
        _ = try await client.getOften(1)
        measure_begin()
        let bytes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<connections { group.addTask { try await client.getOften(each) } }
            return try await group.reduce(0, +)
        }
        measure_end(Double(each * connections), Double(bytes))
    }
}

/// 12e: reads a large response to the end on the calling thread.
let secureRead = Row("secure-read") { arguments in
    let client = try SecureClient(arguments)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let before = measure_private_bytes()
    var reads = 0
    var bytes = 0
    measure_begin()
    let stream = try client.open()
    while case let count = try stream.read(into: &buffer), count > 0 {
        reads += 1
        bytes += count
    }
    measure_note("memory", Double(measure_private_bytes() - before))
    measure_end(Double(reads), Double(bytes))
}

/// 12e: reads a large response to the end in a task on the event loop.
let secureReadAsync = Row(async: "secure-read-async") { arguments in
    let client = try SecureClient(arguments)
    try await withNetworkExecutor {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var reads = 0
        var bytes = 0
        measure_begin()
        let stream = try client.open()
        while case let count = try await stream.read(into: &buffer), count > 0 {
            reads += 1
            bytes += count
        }
        measure_end(Double(reads), Double(bytes))
    }
}

/// The request, with the version of HTTP to use.
private struct SecureClient: Sendable {
    let count: Int
    private let request: HTTPRequest
    private let options: HTTPOptions
    private let version: HTTPVersion

    /// - Parameter connections: the most connections of HTTP/1.1.
    init(_ arguments: Arguments, connections: Int = 1) throws {
        count = arguments.number("count")
        request = try makeRequest(arguments)
        var options = HTTPOptions()
        options.tls.trust = .only(file: arguments.text("ca"))
        options.pool = HTTPConnectionPool(limits: .init(perOrigin: connections))
        options.keepsConnection = true
        let isHTTP2 = arguments.text("versions") == "http2"
        options.versions = isHTTP2 ? .automatic : .http1
        self.options = options
        version = isHTTP2 ? .http20 : .http11
    }

    func open() throws -> ReadStream {
        let stream = try ReadStream(request: request, options: options)
        try stream.open()
        return stream
    }

    func get(into buffer: inout [UInt8]) throws -> Int {
        let stream = try open()
        var bytes = 0
        while case let count = try stream.read(into: &buffer), count > 0 { bytes += count }
        check(stream)
        return bytes
    }

    func getOften(_ count: Int) async throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var bytes = 0
        for _ in 0..<count {
            let stream = try open()
            while case let received = try await stream.read(into: &buffer), received > 0 { bytes += received }
            check(stream)
        }
        return bytes
    }

    private func check(_ stream: ReadStream) {
        guard let response = stream[.httpResponse], response.status == .ok else { stop("the status is not 200") }
        guard response.version == version else { stop("the response is of \(response.version)") }
    }
}
