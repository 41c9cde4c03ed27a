import Testing

@testable import HTTP2

/// Bytes on the wire, for tests.
enum Wire {
    /// The bytes of frames that `append` makes.
    static func frames(_ append: (inout FrameWriter) -> Void) -> [UInt8] {
        var writer = FrameWriter()
        append(&writer)
        return writer.withBytes { $0.withUnsafeBytes { Array($0) } }
    }

    /// A frame with this payload.
    static func frame(
        _ kind: FrameKind, _ flags: FrameFlags = [], on stream: UInt32, _ payload: [UInt8] = []
    ) -> [UInt8] {
        frames { $0.append(FrameHeader(kind, flags: flags, on: StreamID(stream), length: payload.count)) } + payload
    }

    /// A header block of literals that enter no table.
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in [0x00] + string(name) + string(value) }
    }

    private static func string(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        let count = text.utf8.count
        if count < 127 {
            bytes.append(UInt8(count))
        } else {
            bytes.append(127)
            var rest = count - 127
            while rest >= 128 {
                bytes.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes + text.utf8
    }

    /// HEADERS with such a block.
    static func headers(_ stream: UInt32, ends: Bool, _ fields: [(String, String)]) -> [UInt8] {
        frame(.headers, ends ? [.endHeaders, .endStream] : .endHeaders, on: stream, block(fields))
    }

    static func get(_ stream: UInt32, _ fields: [(String, String)] = []) -> [UInt8] {
        headers(stream, ends: true, request("GET") + fields)
    }

    static func post(_ stream: UInt32, _ fields: [(String, String)] = []) -> [UInt8] {
        headers(stream, ends: false, request("POST") + fields)
    }

    static func request(_ method: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "example.org"), (":path", "/")]
    }

    static func response(_ stream: UInt32, _ status: String = "200", ends: Bool = false) -> [UInt8] {
        headers(stream, ends: ends, [(":status", status)])
    }

    static func data(_ stream: UInt32, _ text: String, ends: Bool = false) -> [UInt8] {
        frame(.data, ends ? .endStream : [], on: stream, Array(text.utf8))
    }

    static func reset(_ stream: UInt32, _ code: ErrorCode = .cancel) -> [UInt8] {
        frames { $0.appendReset(StreamID(stream), code) }
    }

    static func windowUpdate(_ stream: UInt32, _ increment: Int64) -> [UInt8] {
        frames { $0.appendWindowUpdate(StreamID(stream), increment: increment) }
    }

    static func goAway(_ last: UInt32, _ code: ErrorCode = .noError) -> [UInt8] {
        frames { $0.appendGoAway(HTTP2GoAway(lastStream: StreamID(last), code: code, debugData: [])) }
    }

    /// What a client sends first.
    static let clientPreface = ConnectionPreface.bytes + frames { $0.appendSettings([]) } + settingsAcknowledgment

    /// What a server sends first.
    static let serverPreface = frames { $0.appendSettings([]) } + settingsAcknowledgment

    static let settingsAcknowledgment = frames { $0.appendSettingsAcknowledgment() }

    /// The parts of a sequence of frames, with the content of each as bytes.
    static func parts(_ bytes: [UInt8]) throws -> [FrameParser.Part] {
        var parser = FrameParser()
        var offset = 0
        var parts: [FrameParser.Part] = []
        while let part = try parser.next(in: bytes.span.bytes, at: &offset) { parts.append(part) }
        return parts
    }
}

extension HTTP2Machine {
    /// Acts on bytes in pieces of a size.
    mutating func receive(
        _ bytes: [UInt8], inPiecesOf size: Int = .max, now: Duration = .zero
    ) throws(HTTP2Error) {
        var start = 0
        while start < bytes.count {
            let end = size > bytes.count - start ? bytes.count : start + size
            try receive(bytes.span.bytes.extracting(start..<end), now: now)
            start = end
        }
    }

    /// Takes the whole output.
    mutating func takeOutput() -> [UInt8] {
        let bytes = withOutput { $0.withUnsafeBytes { Array($0) } }
        didWrite(bytes.count)
        return bytes
    }

    mutating func takeEvents() -> [HTTP2Event] {
        var events: [HTTP2Event] = []
        while let event = nextEvent() { events.append(event) }
        return events
    }

    /// The frames of the output, without the client's preface.
    mutating func takeParts() throws -> [FrameParser.Part] {
        let output = takeOutput()
        let preface = ConnectionPreface.bytes
        return try Wire.parts(output.starts(with: preface) ? Array(output.dropFirst(preface.count)) : output)
    }

    /// Reads everything that there is, and how reading ended.
    mutating func readAll(_ stream: StreamID, now: Duration = .zero) throws -> ([UInt8], HTTP2ReadOutcome) {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            let outcome = try read(stream, into: &target, now: now)
            guard case .bytes(let count) = outcome else { return (all, outcome) }
            all += buffer[..<count]
        }
    }

    mutating func send(
        _ bytes: [UInt8], on stream: StreamID, endsHere: Bool, now: Duration = .zero
    ) throws -> HTTP2SendOutcome {
        try send(bytes.span.bytes, on: stream, endsHere: endsHere, now: now)
    }
}

extension HTTP2Event {
    /// The status of the response to the request on a stream; nil for other events.
    func status(on stream: StreamID) -> HTTPStatus? {
        if case .response(stream, let response) = self { response.status } else { nil }
    }
}

/// A client and a server, wired in memory.
struct MachinePair: ~Copyable {
    var client: HTTP2ClientMachine
    var server: HTTP2ServerMachine
    var now = Duration.zero

    init(
        client clientLimits: HTTP2Limits = HTTP2Limits(), server serverLimits: HTTP2Limits = HTTP2Limits(),
        allowsConnectProtocol: Bool = false
    ) {
        client = HTTP2ClientMachine(limits: clientLimits, now: .zero)
        server = HTTP2ServerMachine(limits: serverLimits, allowsConnectProtocol: allowsConnectProtocol, now: .zero)
    }

    /// Carries bytes in both directions until both are silent.
    mutating func exchange(inPiecesOf size: Int = .max) throws {
        while client.outputCount + server.outputCount > 0 {
            try server.receive(client.takeOutput(), inPiecesOf: size, now: now)
            try client.receive(server.takeOutput(), inPiecesOf: size, now: now)
        }
    }

    static func head(_ method: HTTPMethod = .get, _ target: RequestTarget = "/", _ fields: HTTPFields = [:]) throws
        -> HTTP2Request
    {
        var head = try HTTPRequest(method: method, target: target)
        head.fields = fields
        if method != .connect { try head.fields.set("example.org", for: .host) }
        return HTTP2Request(head, scheme: method == .connect ? "" : "https")
    }

    /// Sends a request and carries it to the server.
    mutating func request(_ request: HTTP2Request? = nil, endsHere: Bool = true) throws -> StreamID {
        let request = try request ?? Self.head()
        guard let stream = try client.request(request, endsHere: endsHere, now: now) else { throw NoRoom() }
        try exchange()
        return stream
    }

    struct NoRoom: Error {}
}

/// Checks that a call throws an error with this rule.
@discardableResult
func expectError<Result>(
    _ rule: String, sourceLocation: SourceLocation = #_sourceLocation, _ call: () throws -> Result
) -> HTTP2Error? {
    let error = #expect(throws: HTTP2Error.self, sourceLocation: sourceLocation) { try call() }
    #expect(error?.rule == rule, sourceLocation: sourceLocation)
    return error
}

/// Checks that a call is refused as a mistake of the program with this rule, which ends nothing.
func expectMistake<Result>(
    _ rule: String, sourceLocation: SourceLocation = #_sourceLocation, _ call: () throws -> Result
) {
    let error = expectError(rule, sourceLocation: sourceLocation, call)
    #expect(error?.fault == .caller && error?.scope == .call, sourceLocation: sourceLocation)
}
