import HTTP2

enum HTTP2FirstFiveMinutes {
    struct Connection {
        enum Input {
            case bytes([UInt8])
            case end
            case timeout
        }
        var now: Duration { .zero }
        func write(_ bytes: [UInt8]) throws {}
        func read(until deadline: Duration?) throws -> Input { .end }
    }
    static func handle(_ event: HTTP2Event, _ machine: inout HTTP2ClientMachine, _ now: Duration) {}
}
