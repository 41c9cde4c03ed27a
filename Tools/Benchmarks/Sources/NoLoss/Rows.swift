internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import HTTPStream
internal import StreamKit

/// To a server that ends its connections in every way, in the same process. With `idempotent=1` also without GOAWAY.
let harsh = Row(async: "harsh") { arguments in
    let allIdempotent = arguments.number("idempotent") == 1
    let count = arguments.number("count")
    let harsh = HarshServer(count: count, allIdempotent: allIdempotent)
    let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
    guard let port = listener.port else { stop("no port") }
    let connections = Locked(0)
    let serving = Task.detached {
        try await listener.run { pair in
            let number = connections.withLock { connections in
                connections += 1
                return connections
            }
            try await HTTP2Script.serve(pair, number: number, harsh.handler)
            // A connection that is closed while the client still sends is reset, and what it has not read is lost.
            try await pair.output.finish()
            while try await !pair.input.read(upTo: 65_536).isEmpty {}
        }
    }
    defer { serving.cancel() }
    let crowd = try makeCrowd(
        of: count, at: "http://127.0.0.1:\(port)", HTTPOptions(), .http2, allIdempotent: allIdempotent)
    try await send(crowd, count)
    for (manner, number) in zip(HarshServer.Manner.allCases, harsh.endings) {
        measure_note("\(manner)", Double(number))
    }
    check(harsh.processed[1...].map(Int.init), crowd)
    measure_end(Double(count), 0)
}

/// To ``HTTPServer`` over TLS, in the same process; each stops after 1,000 requests, and another one continues.
let ours = Row(async: "ours") { arguments in
    let count = arguments.number("count")
    let servers = try ReplacedServers(
        count, TLSIdentity(file: arguments.text("certificate"), keyFile: arguments.text("key")))
    try servers.startNext()
    let crowd = try makeCrowd(of: count, at: "https://localhost:\(servers.port)", secureOptions(arguments), .automatic)
    try await send(crowd, count)
    measure_note("servers", Double(servers.startedCount))
    check(Array(servers.processed[1...]), crowd)
    measure_end(Double(count), 0)
}

/// To nginx over TLS, which ends each connection after 1,000 requests. `log=` is the path of its log, which this row empties: a line is
/// the number of the connection and the path of a request.
let nginx = Row(async: "nginx") { arguments in
    let count = arguments.number("count")
    let log = URL(filePath: arguments.text("log"))
    // nginx appends to it.
    try Data().write(to: log)
    let crowd = try makeCrowd(
        of: count, at: "https://localhost:\(arguments.text("port"))", secureOptions(arguments), .automatic)
    try await send(crowd, count)
    var processed = [Int](repeating: 0, count: count)
    var connections: Set<Substring> = []
    // nginx logs a request after its response.
    for _ in 0..<100 where processed.contains(0) {
        try await EventLoop.shared.sleep(until: .now + .milliseconds(100))
        processed = [Int](repeating: 0, count: count)
        connections = []
        for line in try String(decoding: Data(contentsOf: log), as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " /")
            guard words.count == 2, let number = Int(words[1]), 1...count ~= number else {
                stop("the log has '\(line)'")
            }
            connections.insert(words[0])
            processed[number - 1] += 1
        }
    }
    measure_note("connections", Double(connections.count))
    check(processed, crowd)
    measure_end(Double(count), 0)
}

private func secureOptions(_ arguments: Arguments) -> HTTPOptions {
    var options = HTTPOptions()
    options.tls.trust = .only(file: arguments.text("ca"))
    return options
}

private func makeCrowd(
    of count: Int, at origin: String, _ settings: HTTPOptions, _ versions: HTTPVersions, allIdempotent: Bool = false
) throws -> RequestCrowd {
    var options = settings
    options.keepsConnection = true
    options.pool = HTTPConnectionPool()
    options.versions = versions
    return RequestCrowd(count: count, allIdempotent: allIdempotent) { [options] method, path, body in
        guard let url = URL(string: origin + path) else { stop("no URL") }
        return try ReadStream(request: HTTPRequest(method: method, url: url), body: body, options: options)
    }
}

/// Sends the requests, where the measured part begins; it ends after the check.
private func send(_ crowd: RequestCrowd, _ count: Int) async throws {
    measure_begin()
    let failures = await crowd.run()
    if let first = failures.first {
        stop("\(failures.count) of \(count) requests failed: \(first.split(separator: "\n").joined(separator: "; "))")
    }
}

/// Ends the program unless each request was processed, and only once if it is not idempotent.
private func check(_ processed: [Int], _ crowd: RequestCrowd) {
    let lost = processed.count { $0 == 0 }
    let doubled = processed.indices.count { processed[$0] > 1 && !crowd.isIdempotent($0 + 1) }
    if lost > 0 || doubled > 0 { stop("\(lost) requests are lost, and \(doubled) were processed twice") }
    measure_note("repeated", Double(processed.count { $0 > 1 }))
}

/// Servers that follow one another at the same sockets.
private final class ReplacedServers: Sendable {
    private struct State {
        /// How often each request was processed, by number.
        var processed: [Int]
        var started = 0
    }

    private static let requestsEach = 1_000

    let port: UInt16
    private let sockets: [Socket]
    private let configuration: HTTPServer.Configuration
    private let state: Locked<State>

    init(_ count: Int, _ identity: TLSIdentity) throws {
        state = Locked(State(processed: Array(repeating: 0, count: count + 1)))
        sockets = try Socket.listeners(onPort: 0, isLocal: true)
        guard let port = sockets.first?.localAddress?.port else { stop("no port") }
        self.port = port
        var configuration = HTTPServer.Configuration()
        configuration.connections.tls = TLSConfiguration(server: identity)
        self.configuration = configuration
    }

    var processed: [Int] { state.withLock { $0.processed } }
    var startedCount: Int { state.withLock { $0.started } }

    func startNext() throws {
        let copies = try sockets.map { try Socket(descriptor: $0.duplicateDescriptor(), ownership: .owned) }
        let server = try HTTPServer(sockets: copies, configuration: configuration)
        state.withLock { $0.started += 1 }
        let count = Locked(0)
        Task.detached {
            try await server.run { [self] exchange in
                guard let path = exchange.request.target.path, let number = Int(path.dropFirst()) else { return }
                state.withLock { $0.processed[number] += 1 }
                let served = count.withLock { count in
                    count += 1
                    return count
                }
                if served == Self.requestsEach {
                    try startNext()
                    server.stop()
                }
                try await exchange.respond(.ok, body: Array(path.utf8))
            }
        }
    }
}
