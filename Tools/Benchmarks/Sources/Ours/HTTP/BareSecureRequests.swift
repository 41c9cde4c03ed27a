internal import BenchmarkRows
internal import CMeasure
internal import FoundationEssentials
internal import HTTP2
internal import HTTPMessage
internal import NetKit
internal import StreamKit

/// The floor of 12a and 12b in Swift, on the calling thread: TLS streams and a machine of HTTP/2, with the system calls of a request. There
/// is no load, key, pool or stream of a response, and nothing can be cancelled or shared.
let bareSecureRequests = Row("bare-secure-requests") { arguments in
    let count = arguments.number("count")
    let (head, pair) = try connect(arguments)
    var machine = HTTP2ClientMachine(now: .zero)
    _ = try get(1, of: head, atOnce: 1, &machine, over: pair)
    measure_begin()
    let bytes = try get(count, of: head, atOnce: arguments.number("connections"), &machine, over: pair)
    measure_end(Double(count), Double(bytes))
}

/// The floor of 12e in Swift, over the same layers as ``bareSecureRequests``. Each byte is copied once, from the input to the caller's memory.
let bareSecureRead = Row("bare-secure-read") { arguments in
    let (head, pair) = try connect(arguments)
    var machine = HTTP2ClientMachine(now: .zero)
    var input = [UInt8](repeating: 0, count: 65_536)
    var body = [UInt8](repeating: 0, count: 65_536)
    var (reads, bytes, hasEnded) = (0, 0, false)
    measure_begin()
    guard try machine.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero) != nil else {
        stop("no stream")
    }
    while !hasEnded {
        try flush(&machine, over: pair)
        let received = try pair.input.read(into: &input)
        if received == 0 { stop("the connection has ended") }
        reads += 1
        try machine.receive(input.span.bytes.extracting(first: received), now: .zero) { _, data in
            data.withUnsafeBytes { data in body.withUnsafeMutableBytes { $0.copyBytes(from: data) } }
            bytes += data.byteCount
            return data.byteCount
        }
        while let event = machine.nextEvent() {
            switch event {
            case .response(_, let response): if response.status != .ok { stop("the status is not 200") }
            case .ended: hasEnded = true
            case .reset, .goAway: stop("\(event)")
            default: break
            }
        }
    }
    measure_end(Double(reads), Double(bytes))
}

/// Connects with HTTP/2. Returns the head of the requests, and the open connection.
private func connect(_ arguments: Arguments) throws -> (head: HTTPRequest, pair: StreamPair) {
    var head = try makeRequest(arguments)
    let port = head.url?.port ?? 443
    try head.fields.set("localhost:\(port)", for: .host)
    let pair = StreamPair(host: "localhost", port: UInt16(port))
    var tls = TLSConfiguration()
    tls.trust = .only(file: arguments.text("ca"))
    tls.applicationProtocols = ["h2"]
    try pair.set(.tls, to: tls)
    try pair.open()
    return (head, pair)
}

private func flush(_ machine: inout HTTP2ClientMachine, over pair: StreamPair) throws {
    let output = machine.outputCount
    if output == 0 { return }
    try machine.withOutput { bytes throws(StreamError) in try pair.output.writeAll(bytes) }
    machine.didWrite(output)
}

/// Performs requests, this many at once. Returns the number of bytes received.
private func get(
    _ count: Int, of head: HTTPRequest, atOnce limit: Int, _ machine: inout HTTP2ClientMachine, over pair: StreamPair
) throws -> Int {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var body = [UInt8](repeating: 0, count: 65_536)
    var (begun, ended, bytes) = (0, 0, 0)
    while ended < count {
        while begun < count, begun - ended < limit,
            try machine.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero) != nil
        {
            begun += 1
        }
        try flush(&machine, over: pair)
        let received = try pair.input.read(into: &buffer)
        if received == 0 { stop("the connection has ended") }
        try machine.receive(buffer.span.bytes.extracting(first: received), now: .zero)
        while let event = machine.nextEvent() {
            switch event {
            case .response(_, let response): if response.status != .ok { stop("the status is not 200") }
            case .readable(let stream):
                var span = body.mutableSpan
                var memory = span.mutableBytes
                while case .bytes(let count) = try machine.read(stream, into: &memory, now: .zero) { bytes += count }
            case .ended(let stream):
                machine.close(stream, now: .zero)
                ended += 1
            case .reset, .goAway: stop("\(event)")
            default: break
            }
        }
    }
    return bytes
}
