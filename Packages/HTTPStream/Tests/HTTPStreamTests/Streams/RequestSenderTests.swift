import EventLoops
import Foundation
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct RequestSenderTests {
    /// A transport that accepts all bytes, and can hold them back, as TLS does with the rest of a record.
    private final class HoldingTransport: StreamTransport {
        let waitPoint = WaitPoint()
        let holdsBytes = Locked(true)
        let written = Locked(0)

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
            written.withLock { $0 += bytes.byteCount }
            return .moved(bytes.byteCount)
        }

        func tryFlush() throws(StreamError) -> Attempt {
            holdsBytes.withLock { $0 } ? .wouldBlock(.writable) : .ended
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
        func close() {}
    }

    /// A head of 18 bytes.
    private func head(length: Int64?, expectsContinue: Bool) -> RequestPreparation.Head {
        let bytes = Array("PUT / HTTP/1.1\r\n\r\n".utf8)
        return .init(bytes: bytes, bodyLength: length, expectsContinue: expectsContinue)
    }

    @Test(
        "a request is sent, and a 100 (Continue) is waited for, once all bytes have left the layers below",
        arguments: [false, true])
    func flushing(_ awaitsContinue: Bool) throws {
        let transport = HoldingTransport()
        let pair = StreamPair(transport: transport)
        try pair.open()
        var sender = RequestSender(head(length: 3, expectsContinue: awaitsContinue), .bytes([1, 2, 3]), loop: .shared)
        for _ in 1...2 {
            guard case .connectionBlocks = try sender.advance(pair.output) else {
                Issue.record("bytes are held, and the request counts as sent")
                return
            }
            #expect(transport.written.withLock { $0 } == (awaitsContinue ? 18 : 21))
            let isDone = sender.isDone
            #expect(!isDone)
        }
        transport.holdsBytes.withLock { $0 = false }
        switch try sender.advance(pair.output) {
        case .done: #expect(!awaitsContinue)
        case .awaitsContinue: #expect(awaitsContinue)
        default: Issue.record("the bytes have left")
        }
        pair.close()
    }

    @Test("the load waits for a body's stream only once the lower layers have sent all bytes")
    func flushingBeforeTheSource()
        throws
    {
        let transport = HoldingTransport()
        let pair = StreamPair(transport: transport)
        try pair.open()
        let body = StreamPair.bound()
        var sender = RequestSender(
            head(length: nil, expectsContinue: false), .stream(length: nil) { body.input }, loop: .shared)
        func advance() throws -> RequestSender.Progress {
            while true {
                let progress = try sender.advance(pair.output)
                guard case .needsReading = progress else { return progress }
                sender.beginBodyReading()?.run()
            }
        }
        guard case .sentPiece = try advance(), case .connectionBlocks = try advance() else {
            Issue.record("bytes are held, and the body's stream is waited for")
            return
        }
        transport.holdsBytes.withLock { $0 = false }
        guard case .sourceBlocks = try advance() else {
            Issue.record("the bytes have left")
            return
        }
        pair.close()
    }

    /// A server that reads as fast as the client sends does not keep the client's loop from other work.
    @Test func oneStepSendsABoundedPartOfABody() async throws {
        // A step may begin with the rest of a piece.
        let (total, limit) = (Int64(64 << 20), Int64((RequestSender.piecesPerTurn + 1) * ReadStream.chunkSize))
        var configuration = HTTPServer.Configuration.patient
        configuration.limits.bodyLength = total
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let port = try #require(server.port)
        let running = Task {
            try await server.run { exchange in
                while try await !exchange.readBody().isEmpty {}
                try await exchange.respond(.ok)
            }
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
        let stream = ReadStream(
            request: try HTTPRequest(method: .put, url: url), body: .bytes([UInt8](repeating: 1, count: Int(total))))
        try stream.open()
        try await stream.opened()
        // From here on, only this thread takes steps.
        var (sent, most) = (stream[.httpBodyBytesSent] ?? 0, Int64(0))
        var buffer: [UInt8] = [0]
        while try stream.tryRead(into: &buffer) == nil {
            let now = stream[.httpBodyBytesSent] ?? 0
            (most, sent) = (max(most, now - sent), now)
        }
        #expect(stream[.httpBodyBytesSent] == total)
        #expect(most <= limit, "\(most) bytes in one step")
        stream.close()
        server.stop(within: .zero)
        try await running.value
    }
}

extension WriteStream: RequestOutput {
    func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? { try tryWrite(bytes) }
    func tryEnd(_ trailers: HTTPFields?) throws(StreamError) -> Bool { try tryFlush() }
}
