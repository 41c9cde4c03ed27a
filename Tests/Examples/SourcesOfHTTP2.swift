import HTTP2

enum SourcesOfHTTP2 {
    struct Socket {
        func write(_ bytes: RawSpan) {}
    }
    static var socket: Socket { Socket() }
    static var head: HTTPRequest { preconditionFailure("only compiled") }
    static var bytes: [UInt8] { [] }
    static var block: [UInt8] { [] }
}
