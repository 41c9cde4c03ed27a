internal import BenchmarkRows
internal import CMeasure
internal import HTTP2

/// A client and a server wired in memory.
private struct Pair: ~Copyable {
    var client: HTTP2ClientMachine
    var server: HTTP2ServerMachine
    var response: HTTPResponse
    /// What the server sends, a piece at a time.
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 16 * 1024)
    /// Where the client reads to.
    var memory = [UInt8](repeating: 0, count: 64 * 1024)
    /// The bytes of the body that the server has not sent, and those that the client has read.
    var left = 0
    var received = 0
    var ended = 0
    /// The clock stands still.
    private let now = Duration.zero

    init(_ response: HTTPResponse) throws {
        client = HTTP2ClientMachine(now: .zero)
        server = HTTP2ServerMachine(now: .zero)
        self.response = response
        try carry()
    }

    /// Carries bytes both ways, and acts on the events, until none are left.
    mutating func carry() throws {
        while true {
            while let stream = server.nextWritable() { try send(on: stream) }
            if client.outputCount == 0, server.outputCount == 0 { return }
            try client.withOutput { bytes throws(HTTP2Error) in try server.receive(bytes, now: now) }
            client.didWrite(client.outputCount)
            while let event = server.nextEvent() {
                guard case .request(let stream, _) = event else { continue }
                try server.respond(stream, with: response, endsHere: false, now: now)
                try send(on: stream)
            }
            try receive()
            server.didWrite(server.outputCount)
            while let event = client.nextEvent() {
                guard case .ended(let stream) = event else { continue }
                client.close(stream, now: now)
                ended += 1
            }
        }
    }

    private mutating func send(on stream: StreamID) throws {
        let piece = piece
        while true {
            let count = min(left, piece.count)
            let outcome = try server.send(
                piece.span.bytes.extracting(0..<count), on: stream, endsHere: count == left, now: now)
            left -= outcome.count
            if !outcome.isComplete { return }
            if left == 0 { return server.close(stream, now: now) }
        }
    }

    /// The client copies the data from the server's output to its memory.
    private mutating func receive() throws {
        var target = Swift.exchange(&memory, with: [])
        var count = 0
        try server.withOutput { bytes throws(HTTP2Error) in
            try client.receive(bytes, now: now) { _, data in
                target.withUnsafeMutableBytes { target in data.withUnsafeBytes { target.copyMemory(from: $0) } }
                count += data.byteCount
                return data.byteCount
            }
        }
        memory = target
        received += count
    }

    mutating func run(_ request: HTTP2Request, length: Int) throws {
        left = length
        guard try client.request(request, endsHere: true, now: now) != nil else { stop("no stream") }
        try carry()
    }
}

private func makeRequest() throws -> HTTP2Request {
    var head = try HTTPRequest(method: .get, target: "/1024")
    head.fields = ["Host": "www.example.com", "User-Agent": "example/1.0", "Accept": "*/*"]
    return HTTP2Request(head, scheme: "https")
}

/// 12h: a GET of 1 KiB, in memory.
let exchange = Row("exchange") { arguments in
    let count = arguments.number("count")
    let request = try makeRequest()
    var pair = try Pair(
        HTTPResponse(
            status: .ok,
            fields: [
                "Server": "example/1.0", "Content-Type": "application/octet-stream", "Content-Length": "1024",
                "Date": "Mon, 21 Oct 2024 20:13:21 GMT", "ETag": "\"0123-4567\"",
            ]))
    measure_begin()
    for _ in 0..<count { try pair.run(request, length: 1024) }
    guard pair.ended == count, pair.received == count * 1024 else { stop("an exchange is not complete") }
    measure_end(Double(count), Double(pair.received))
}

/// 12i: a body, in memory.
let data = Row("data") { arguments in
    let bytes = arguments.number("bytes")
    let request = try makeRequest()
    var pair = try Pair(
        HTTPResponse(status: .ok, fields: ["Server": "example/1.0", "Content-Type": "application/octet-stream"]))
    measure_begin()
    try pair.run(request, length: bytes)
    guard pair.ended == 1, pair.received == bytes else { stop("the body is not complete") }
    measure_end(1, Double(bytes))
}

/// A direction of a connection without its machine: the head is encoded, decoded and made a message.
private struct HeadPath {
    let fields: [(name: [UInt8], value: [UInt8])]
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    var block: [UInt8] = []
    var list = HPACKFields()

    init(_ fields: [(String, String)]) {
        self.fields = fields.map { (Array($0.utf8), Array($1.utf8)) }
    }

    mutating func carry() throws {
        block.removeAll(keepingCapacity: true)
        encoder.beginBlock(into: &block)
        for (name, value) in fields { encoder.encode(name: name.span.bytes, value: value.span.bytes, into: &block) }
        list.removeAll()
        let block = block
        try decoder.decode(block.span.bytes, isLast: true, into: &list)
    }
}

/// 12h, the part that no machine can save: both heads of an exchange, as messages, and two copies of its body.
let heads = Row("exchange-heads") { arguments in
    let count = arguments.number("count")
    var toServer = HeadPath([
        (":method", "GET"), (":path", "/1024"), (":scheme", "https"), (":authority", "www.example.com"),
        ("user-agent", "example/1.0"), ("accept", "*/*"),
    ])
    var toClient = HeadPath([
        (":status", "200"), ("server", "example/1.0"), ("content-type", "application/octet-stream"),
        ("content-length", "1024"), ("date", "Mon, 21 Oct 2024 20:13:21 GMT"), ("etag", "\"0123-4567\""),
    ])
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 1024)
    var (output, memory) = ([UInt8](), [UInt8]())
    var checked = 0
    measure_begin()
    for _ in 0..<count {
        try toServer.carry()
        checked += try request(toServer.list).fields.count
        try toClient.carry()
        checked += try response(toClient.list).fields.count
        output.removeAll(keepingCapacity: true)
        output += body
        memory.removeAll(keepingCapacity: true)
        memory += output
    }
    guard checked == count * 7, memory.count == 1024 else { stop("a head is not complete") }
    measure_end(Double(count), Double(count * 1024))
}
