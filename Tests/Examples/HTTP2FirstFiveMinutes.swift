import HTTP2

enum HTTP2FirstFiveMinutes {
    enum Input {
        case bytes([UInt8]), end, timeout
    }
    protocol Connection {
        var now: Duration { get }
        func write(_ bytes: [UInt8]) throws
        func read(until deadline: Duration?) throws -> Input
    }
    static func send(
        _ unsent: inout [StreamID: [UInt8]], on stream: StreamID, _ machine: inout HTTP2ClientMachine, _ now: Duration
    ) throws {}
    static func drive(
        _ machine: inout HTTP2ClientMachine, _ unsent: inout [StreamID: [UInt8]], over connection: some Connection
    ) throws {}
    static func handle(
        _ event: HTTP2Event, _ machine: inout HTTP2ClientMachine, _ unsent: inout [StreamID: [UInt8]], _ now: Duration
    ) {}
}
