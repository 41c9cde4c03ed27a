import HTTPMessage

enum HTTPMessageFirstFiveMinutes {
    static var parser: MessageParser {
        get { MessageParser(.response) }
        set {}
    }
    static var buffer: [UInt8] { [] }
    static func receive() throws -> [UInt8]? { nil }
    static func use(_ bytes: [UInt8]) {}
}
