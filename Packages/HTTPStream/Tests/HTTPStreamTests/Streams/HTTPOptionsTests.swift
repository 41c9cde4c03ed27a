import EventLoops
import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The options that a stream is made with. NetKit's matrix of properties observes the effect of each.
@Suite(.timeLimit(.minutes(5))) struct HTTPOptionsTests {
    private static func stream(_ change: (inout HTTPOptions) -> Void) throws -> ReadStream {
        var options = HTTPOptions()
        change(&options)
        let url = try #require(URL(string: "http://origin.example/"))
        return try ReadStream(request: HTTPRequest(method: .get, url: url), options: options)
    }

    @Test func aStreamHasTheOptionsThatItWasMadeWith() throws {
        let pool = HTTPConnectionPool()
        let stream = try Self.stream {
            $0 = .userAgent
            $0.pool = pool
            $0.host = "www.example.org"
            $0.connection[.openTimeout] = .seconds(7)
            $0.connection[.readTimeout] = .seconds(8)
        }
        #expect(stream[.http(\.followsRedirects)] == true && stream[.http(\.decodesContent)] == true)
        #expect(stream[.http(\.keepsConnection)] == true && stream[.http(\.responseTimeout)] == .seconds(75))
        #expect(stream[.http(\.pool)] === pool && stream[.http(\.host)] == "www.example.org")
        #expect(stream[.openTimeout] == .seconds(7) && stream[.readTimeout] == .seconds(8))
        // The stream's own property is the stream's, and can be changed.
        try stream.set(.readTimeout, to: .seconds(9))
        #expect(stream[.readTimeout] == .seconds(9))
        try stream.set(.http(\.host), to: nil)
        #expect(stream[.http(\.host)] == nil)
    }

    @Test func changesOfOneStreamLeaveTheOptionsOfOthers() throws {
        let options = HTTPOptions()
        let request = try HTTPRequest(method: .get, url: try #require(URL(string: "http://origin.example/")))
        let streams = try (0..<2).map { _ in try ReadStream(request: request, options: options) }
        try streams[0].set(.http(\.totalTimeout), to: .seconds(1))
        #expect(streams[0][.http(\.totalTimeout)] == .seconds(1) && streams[1][.http(\.totalTimeout)] == nil)
    }

    private static let refused: [@Sendable (inout HTTPOptions) -> Void] = [
        { $0.host = "no host" }, { $0.connection[.fileOffset] = 1 }, { $0.connection[.http(\.decodesContent)] = true },
        { $0.connection[.http(\.limits.headLength)] = 1 },
    ]

    @Test("options that have no effect are refused", arguments: refused.indices) func refuses(_ index: Int) throws {
        let error = #expect(throws: StreamError.self) { try Self.stream(Self.refused[index]) }
        #expect(error?.isPOSIX(22) == true)
    }

    @Test func aFieldWithoutARowIsNoProperty() throws {
        let stream = try Self.stream { _ in }
        let error = #expect(throws: StreamError.self) { try stream.set(.http(\.tls), to: TLSConfiguration()) }
        #expect(error?.isPOSIX(22) == true)
    }
}
