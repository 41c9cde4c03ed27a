import EventLoops
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// A proxy in memory, for tunnels without I/O.
struct ScriptedTunnel: ~Copyable {
    var machine: HTTP2ServerMachine
    private(set) var events: [HTTP2Event] = []

    init(_ change: (inout HTTP2Limits) -> Void = { _ in }) {
        var limits = HTTP2Limits()
        change(&limits)
        machine = HTTP2ServerMachine(limits: limits, now: .zero)
    }

    /// The stream of the last request; 0 before one has arrived.
    var stream: StreamID {
        for case .request(let stream, _) in events.reversed() { return stream }
        return .connection
    }

    /// The bytes that the proxy has received from its client for the target.
    mutating func takeBytes() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        var span = buffer.mutableSpan
        var memory = span.mutableBytes
        guard case .bytes(let count) = try machine.read(stream, into: &memory, now: .zero) else { return [] }
        return Array(buffer[..<count])
    }

    mutating func receive(_ bytes: [UInt8]) throws {
        try machine.receive(bytes.span.bytes, now: .zero)
        while let event = machine.nextEvent() { events.append(event) }
    }

    mutating func takeOutput() -> [UInt8] {
        let bytes = machine.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
        machine.didWrite(bytes.count)
        return bytes
    }

    /// Sends bytes of the target.
    mutating func send(_ bytes: [UInt8], endsHere: Bool = false) throws -> [UInt8] {
        _ = try machine.send(bytes.span.bytes, on: stream, endsHere: endsHere, now: .zero)
        return takeOutput()
    }

    /// A core with an established tunnel through this proxy.
    ///
    /// - Parameters:
    ///   - start: the time of all that has happened.
    ///   - acknowledges: whether the proxy has acknowledged the settings.
    mutating func core(start: Moment, acknowledges: Bool = true) throws -> HTTP2ConnectCore {
        var core = HTTP2ConnectCore("proxy.test:3128", .default, isAdequate: true, now: start)
        try core.request(Self.request(), now: start)
        try receive(core.takeOutput())
        try machine.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let output = takeOutput()
        core.receive(acknowledges ? output : Self.unacknowledged(output), now: start)
        let response = try core.takeResponse()
        #expect(response?.status == .ok)
        try receive(core.takeOutput())
        return core
    }

    static func request() throws -> HTTPRequest {
        var request = try HTTPRequest(method: .connect, target: "www.test:7")
        try request.fields.set("www.test:7", for: .host)
        return request
    }

    /// An acknowledgment of SETTINGS.
    static let acknowledgment: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]

    /// PING, which carries nothing for the tunnel.
    static let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0] + Array(repeating: 7, count: 8)

    /// Frames without acknowledgments of SETTINGS.
    static func unacknowledged(_ bytes: [UInt8]) -> [UInt8] {
        var frames: [UInt8] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let frame = rest.prefix(9 + Int(head[0]) << 16 + Int(head[1]) << 8 + Int(head[2]))
            if Array(frame) != acknowledgment { frames += frame }
            rest = rest[frame.endIndex...]
        }
        return frames
    }
}

extension HTTP2ConnectCore {
    /// Receives bytes of the proxy; none mean the end of the connection.
    mutating func receive(_ bytes: [UInt8], now: Moment) { receive(bytes.span.bytes, now: now) }

    /// Reads until nothing more has arrived, the end, or a failure.
    mutating func readAll(now: Moment) -> (bytes: [UInt8], end: Result<Attempt, StreamError>) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1024)
        while true {
            var span = buffer.mutableSpan
            var memory = span.mutableBytes
            do throws(StreamError) {
                let attempt = try read(into: &memory, now: now)
                guard case .moved(let count) = attempt else { return (bytes, .success(attempt)) }
                bytes += buffer[..<count]
            } catch {
                return (bytes, .failure(error))
            }
        }
    }

    /// Sends bytes. Returns the number of those taken, or nil if neither bytes nor the end were taken.
    mutating func send(_ bytes: [UInt8], endsHere: Bool = false, now: Moment) -> Result<Int?, StreamError> {
        do throws(StreamError) {
            return .success(try send(bytes.span.bytes, endsHere: endsHere, now: now))
        } catch {
            return .failure(error)
        }
    }

    /// The response, or the failure.
    mutating func response() -> Result<HTTPResponse?, StreamError> {
        do throws(StreamError) { return .success(try takeResponse()) } catch { return .failure(error) }
    }
}

extension Result where Failure == StreamError {
    /// The error of a failure.
    var error: StreamError? { if case .failure(let error) = self { error } else { nil } }
}
