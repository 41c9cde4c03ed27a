@_spi(Packages) import EventLoops
import StreamKit

enum SourcesOfEventLoops {
    struct Change: OptionSet { let rawValue: Int }
    struct ServiceUnavailable: Error {}
    struct Messages {
        func next() -> String? { nil }
    }
    struct Log {
        func warning(_ text: String) {}
    }
    struct State {
        var pairs = Deferred<StreamPair>()
        mutating func closeAll() {}
    }
    static let state = Locked(State())
    static var isRunning: Bool { false }
    static var change: Change { [] }
    static var deadline: Moment { .now }
    static var point: WaitPoint { WaitPoint(descriptor: fd, ownership: .borrowed) }
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var logger: Log { Log() }
    static var addresses: [String] { [] }
    static var name: String { "" }
    static var path: String { "" }
    static var text: [UInt8] { [] }
    static var messages: Messages { Messages() }
    static var loop: EventLoop { .shared }
    static var fd: Int32 { 0 }
    static var buffer: UnsafeMutableRawPointer { .allocate(byteCount: size, alignment: 1) }
    static var size: Int { 65536 }
    static func load(_ addresses: [String]) async throws -> [String] { addresses }
    static func lookUp(_ name: String) -> String { name }
    static func lookUp(_ name: String, _ handler: @Sendable (String) -> Void) {}
    static func handle(_ message: String) {}
    static func report(_ name: String, _ time: Duration) {}
    static func waitUntilReadable(_ descriptor: Int32) {}
}
