import EventLoops
import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// One request and its response on a connection whose bytes the test provides: no URL, pool, session or clock takes part.
@Suite struct HTTP1ExchangeTests {
    private final class Wire: StreamTransport {
        struct State {
            /// The pieces that reads return in turn; nil for the end.
            var pieces: [[UInt8]?] = []
            var sent: [UInt8] = []
            /// The number of bytes that writes accept.
            var room = Int.max
            var writeError: StreamError?
        }

        let waitPoint = WaitPoint()
        let state = Locked(State())

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            let limit = buffer.byteCount
            let piece: [UInt8]?? = state.withLock { state in
                guard let first = state.pieces.first else { return nil }
                guard let first, first.count > limit else {
                    // The end remains.
                    if first != nil { state.pieces.removeFirst() }
                    return .some(first)
                }
                state.pieces[0] = Array(first[limit...])
                return .some(Array(first[..<limit]))
            }
            guard let piece else { return .wouldBlock(.readable) }
            guard let piece else { return .ended }
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: piece) }
            return .moved(piece.count)
        }

        func peek() throws(StreamError) -> Attempt {
            state.withLock { $0.pieces.isEmpty } ? .wouldBlock(.readable) : .moved(1)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
            let result = state.withLock { state -> Result<Attempt, StreamError> in
                if let error = state.writeError { return .failure(error) }
                let count = min(bytes.byteCount, state.room)
                if count == 0 { return .success(.wouldBlock(.writable)) }
                state.room -= count
                bytes.extracting(first: count).withUnsafeBytes { state.sent += Array($0) }
                return .success(.moved(count))
            }
            return try result.get()
        }

        func writability() throws(StreamError) -> Attempt { .moved(1) }
        func close() {}
    }

    private struct Scene {
        let wire = Wire()
        let exchange: HTTP1Exchange
        let pair: StreamPair

        init(
            _ method: HTTPMethod = .get, fields: [(HTTPFieldName, String)] = [], body: HTTPBody? = nil,
            upgrade: String? = nil, hasWaited: Bool = false,
            reading pieces: [[UInt8]?] = []
        ) throws {
            wire.state.withLock { $0.pieces = pieces }
            pair = StreamPair(transport: wire)
            try pair.open()
            var request = try HTTPRequest(method: method, url: #require(URL(string: "http://a.example/")))
            for (name, value) in fields { try request.fields.append(value, for: name) }
            let preparation = RequestPreparation(keepsConnection: true, decodesContent: false, upgrade: upgrade)
            let head = try preparation.prepare(request, host: "a.example", body: body)
            let key = HTTPConnectionKey(
                try HTTPOrigin(#require(request.url)), StreamProperties(), loop: .shared)
            let connection = HTTPConnection(pair: pair, key: key, limits: .default)
            exchange = try HTTP1Exchange(
                head, method, body, on: connection, connection.link,
                keepsConnection: true, offersSwitch: upgrade != nil, hasWaited: hasWaited)
        }

        /// Takes steps until the exchange needs something or has ended, and names them.
        func events() -> [String] {
            var events: [String] = []
            var deferred = DeferredActions()
            do throws(CarrierFailure) {
                head: while true {
                    switch try exchange.advance(&deferred) {
                    case .needs(.bodyReading):
                        let reading = deferred.bodyReading.take()
                        reading?.run()
                    case .needs(let need): return events + ["needs \(need)"]
                    case .sent(let justNow): events.append(justNow ? "sent just now" : "sent")
                    case .interim(let head): events.append("interim \(head.status.code)")
                    case .switched: return events + ["switched"]
                    case .head(let verdict):
                        let status = exchange.response?.status.code ?? 0
                        events.append("head \(status)\(verdict == .answer ? "" : ", \(verdict)")")
                        break head
                    }
                }
                return events + (try bodyEvents(&deferred))
            } catch {
                return events + ["failed: \(error.source)"]
            }
        }

        private func bodyEvents(_ deferred: inout DeferredActions) throws(CarrierFailure) -> [String] {
            var body = ""
            var memory = [UInt8](repeating: 0, count: 4096)
            while true {
                var span = memory.mutableSpan
                var bytes = span.mutableBytes
                switch try exchange.read(into: &bytes, &deferred) {
                case .needs(let need): return ["'\(body)'", "needs \(need)"]
                case .payload(let count): body += String(decoding: memory[..<count], as: UTF8.self)
                case .ended(let end): return ["'\(body)'", end.isReusable ? "ended, reusable" : "ended"]
                }
            }
        }
    }

    private static let response =
        "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    @Test func theEventsAreTheSameWhateverTheSplit() throws {
        let bytes = Array(Self.response.utf8)
        let all = ["sent just now", "interim 103", "head 200", "'hello'", "ended, reusable"]
        #expect(try Scene(reading: [bytes]).events() == all)
        #expect(try Scene(reading: bytes.map { [$0] }).events() == all)
        for split in 1..<bytes.count {
            #expect(
                try Scene(reading: [Array(bytes[..<split]), Array(bytes[split...])]).events() == all, "at \(split)")
        }
    }

    /// An exchange with its response; a response that ends early ends with the connection.
    @Test(arguments: [
        ("200 OK\r\nContent-Length: 2\r\n\r\nok", "head 200 | 'ok' | ended, reusable"),
        ("200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "head 200 | 'ok' | ended"),
        ("204 No Content\r\n\r\n", "head 204 | '' | ended, reusable"),
        ("200 OK\r\nContent-Length: 2\r\n\r\nokHTTP", "head 200 | 'ok' | ended"),
        ("200 OK\r\n\r\nok", "head 200 | 'ok' | ended"),
        ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "head 200 | 'ok' | ended, reusable"),
        ("200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "failed: server"),
        ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", "head 200 | failed: server"),
        ("200 OK\r\nContent-Length: 3\r\n\r\nok", "head 200 | failed: server"),
        ("200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "failed: server"),
        ("101 Switching\r\nUpgrade: other\r\n\r\n", "failed: server"),
        ("200 OK\r\nContent-Le", "failed: connection"), ("", "failed: connection"),
    ])
    func responses(_ text: String, _ events: String) throws {
        let bytes = text.isEmpty ? [] : Array("HTTP/1.1 \(text)".utf8)
        let scene = try Scene(reading: (bytes.isEmpty ? [] : [bytes]) + [nil])
        #expect(scene.events().joined(separator: " | ") == "sent just now | \(events)")
        // The connection is given up at the end, and not before.
        #expect((scene.exchange.waitPoint == nil) == events.contains("ended"))
    }

    @Test func theRequestMayBeRepeatedUntilAByteOfTheResponseArrives() throws {
        for (method, pieces, mayRepeat) in [
            (HTTPMethod.get, [nil], true), (.post, [nil], false), (.get, [Array("H".utf8), nil], false),
        ] as [(HTTPMethod, [[UInt8]?], Bool)] {
            let scene = try Scene(method, reading: pieces)
            #expect(scene.events().last == "failed: connection")
            #expect(scene.exchange.repetition == (mayRepeat ? .ifReused : .none))
        }
        let scene = try Scene(.post)
        scene.wire.state.withLock { $0.writeError = .closed }
        #expect(scene.events() == ["failed: connection"])
        #expect(scene.exchange.repetition == .ifReused && scene.exchange.bytesSent == 0)
    }

    /// A response cannot have arrived only if the request did not wait for anything.
    @Test func aRequestThatWaitedMayHaveBeenAnswered() throws {
        #expect(try Scene().events() == ["sent just now", "needs input"])
        #expect(try Scene(hasWaited: true).events() == ["sent", "needs input"])
        let scene = try Scene()
        scene.wire.state.withLock { $0.room = 3 }
        #expect(scene.events() == ["needs room"])
        #expect(scene.exchange.isSending && scene.exchange.bytesSent == 3)
        scene.wire.state.withLock { $0.room = .max }
        #expect(scene.events() == ["sent", "needs input"])
        let url = try #require(URL(string: "http://a.example/"))
        #expect(!scene.exchange.isSending && scene.exchange.sentRequest(at: url)?.fields[.host] == "a.example")
    }

    /// RFC 9110 §10.1.1: the body follows a 100 or the end of patience, and a 417 refuses the expectation.
    @Test(arguments: [true, false]) func aBodyWaitsForPermission(byServer: Bool) throws {
        let expect: [(HTTPFieldName, String)] = [(.expect, "100-continue")]
        let scene = try Scene(.put, fields: expect, body: .bytes(Array("body".utf8)))
        #expect(scene.events() == ["sent", "needs permission"])
        #expect(!scene.exchange.hasBegunRequestBody && scene.exchange.bodyBytesSent == 0)
        if byServer {
            scene.wire.state.withLock { $0.pieces = [Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)] }
        } else {
            scene.exchange.permitBody()
        }
        #expect(scene.events() == (byServer ? ["interim 100", "needs input"] : ["needs input"]))
        #expect(scene.exchange.hasBegunRequestBody && scene.exchange.bodyBytesSent == 4)
        scene.wire.state.withLock { $0.pieces = [Array("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n".utf8)] }
        #expect(scene.events() == ["head 417", "''", "ended, reusable"])

        let refused = try Scene(.put, fields: expect, body: .bytes(Array("body".utf8)))
        _ = refused.events()
        refused.wire.state.withLock { $0.pieces = [Array("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n".utf8)] }
        // The server does not know whether the body follows.
        #expect(refused.events() == ["head 417, refusesExpectation", "''", "ended"])
    }

    /// A server that answers early is read before more is sent; a refusal ends the request.
    @Test func anEarlyRefusalStopsTheRequest() throws {
        let body = HTTPBody.stream(length: 1 << 20) { ReadStream(bytes: [UInt8](repeating: 7, count: 1 << 20)) }
        let scene = try Scene(
            .put, body: body, reading: [Array("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno".utf8)])
        #expect(scene.events() == ["sent", "head 403", "'no'", "ended"])
        #expect(scene.exchange.bodyBytesSent < 1 << 20)
    }

    @Test func aBodyThatCannotBeReadIsTheCallersFault() throws {
        let body = HTTPBody.stream(length: 10) { ReadStream(bytes: [1, 2, 3]) }
        #expect(try Scene(.put, body: body).events() == ["failed: caller"])
    }

    /// RFC 9110 §7.8.
    @Test(arguments: [("websocket", "switched"), ("other", "failed: server")])
    func aProtocolIsOffered(_ chosen: String, _ event: String) throws {
        let scene = try Scene(
            fields: [("Upgrade", "websocket")], upgrade: "websocket",
            reading: [Array("HTTP/1.1 101 Switching\r\nUpgrade: \(chosen)\r\nConnection: Upgrade\r\n\r\nrest".utf8)])
        #expect(scene.events() == ["sent just now", event])
        guard event == "switched" else { return }
        var deferred = DeferredActions()
        #expect(scene.exchange.takeSwitched(&deferred)?.received == Array("rest".utf8))
        #expect(scene.exchange.waitPoint == nil)
    }
}
