import Dispatch
import Foundation
import HTTPStream
@_spi(Packages) import StreamKitFoundation
import StreamKitTesting

extension StreamProperty where Value == String {
    static var folderName: Self { .init(setting: "Mail.folderName", access: .beforeOpen) }
}

extension StreamProperty where Value == Int {
    static var messageCount: Self { .init(setting: "Mail.messageCount", access: .readOnly) }
}

enum SourcesOfStreamKit {
    final class Session: IdleConnection {
        let key: String
        init(_ key: String) { self.key = key }
        var isIdle: Bool { true }
        func use() async throws {}
        func close() {}
    }
    struct State: Sendable {
        var pair: StreamPair?
    }
    struct ServerOfTheDay: AddressFinder {
        let description = ""
        func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
            preconditionFailure("only compiled")
        }
    }
    struct Knock: TunnelMachine {
        func next() throws(StreamError) -> TunnelAction { .receive(upTo: 1) }
        func receive(_ bytes: [UInt8]) throws(StreamError) {}
        func receiveEnd() throws(StreamError) {}
        var refusal: TunnelRefusal? { nil }
    }
    actor Tickets {
        func store(_ ticket: [UInt8]) {}
    }
    static let state = Locked(State())
    static let lines = Locked<[String]>([])
    static var session: HTTPSession { HTTPSession() }
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var file: WriteStream { WriteStream(path: "/dev/null") }
    static var pair: StreamPair { StreamPair.bound() }
    static var client: StreamPair { pair }
    static var plain: StreamPair { pair }
    static var socket: Socket { preconditionFailure("only compiled") }
    static var listener: Socket { socket }
    static var lower: any StreamTransport { preconditionFailure("only compiled") }
    static var transport: any StreamTransport { lower }
    static var input: Foundation.InputStream { .init(data: Data()) }
    static var delegate: (any StreamDelegate)? { nil }
    static var error: StreamError { .closed }
    static var log: DeferredLog? { nil }
    static var queue: DispatchQueue { .main }
    static var tickets: Tickets { Tickets() }
    static var key: String { "" }
    static var host: String { "" }
    static var port: UInt16 { 0 }
    static var accepted: Int32 { 0 }
    static var fd: Int32 { 0 }
    static var url: URL { URL(fileURLWithPath: "/") }
    static var pem: [UInt8] { [] }
    nonisolated(unsafe) static var page: HTTPResponse?
    nonisolated(unsafe) static var buffer: [UInt8] = []
    nonisolated(unsafe) static var properties = StreamProperties()
    nonisolated(unsafe) static var configuration = TLSConfiguration()
    static func myPipe() async throws -> BytePipe { preconditionFailure("only compiled") }
    static func process(_ bytes: [UInt8]) {}
    static func requestTicket() async -> [UInt8] { [] }
    static func serve(_ client: Socket) {}
}
