import EventLoops

enum EventLoopsPage {
    struct Failure: Error {}
    static var fd: Int32 { 0 }
    static var buffer: UnsafeMutableRawPointer { .allocate(byteCount: size, alignment: 1) }
    static var size: Int { 65536 }
    static var deadline: Moment { .now }
    static var addresses: [String] { [] }
    static func load(_ addresses: [String]) async throws -> [String] { addresses }
}
