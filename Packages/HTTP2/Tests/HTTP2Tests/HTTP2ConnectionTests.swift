import HTTPMessage
import Testing

@testable import HTTP2

/// The beginning of a connection and its errors (RFC 9113 §3.4 and §5.4.1).
struct HTTP2ConnectionTests {
    /// Both prefaces, octet by octet: what they announce is what the limits say.
    @Test func thePreface() {
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.initialStreamWindow) = (7, 0x0001_0203)
        (limits.fieldSection.listSize, limits.connectionWindowReserve) = (0x0405, 0x0003_0201)
        let common: [UInt8] = [0, 4, 0, 1, 2, 3, 0, 6, 0, 0, 4, 5, 0, 9, 0, 0, 0, 1]
        // The window of the connection is 65,535 bytes until WINDOW_UPDATE enlarges it to the reserve.
        let update: [UInt8] = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 2, 2, 2]
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        let request: [UInt8] = [0, 0, 24, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]
        #expect(client.takeOutput() == Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + request + common + update)
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        let response: [UInt8] = [0, 0, 24, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 7]
        #expect(server.takeOutput() == response + common + update)
        var tunnels = HTTP2ServerMachine(limits: limits, allowsConnectProtocol: true, now: .zero)
        let allowing: [UInt8] = [0, 0, 30, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 7, 0, 8, 0, 0, 0, 1]
        #expect(tunnels.takeOutput() == allowing + common + update)
    }

    /// RFC 9113 §5.4.1: one GOAWAY with the reason, the end of all streams, and the same error ever after.
    @Test func anErrorIsFinal() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1) + Wire.post(3))
        _ = (server.takeEvents(), server.takeOutput())
        let error = try #require(
            expectError("RFC 9113 §6.9.1") { try server.receive(Wire.windowUpdate(0, 1 << 31 - 1)) })
        let end = HTTP2GoAway(lastStream: StreamID(3), code: .flowControlError, debugData: Array(error.reason.utf8))
        #expect(try server.takeParts() == [.goAway(end)])
        #expect(server.failure == error && server.nextDeadline == nil && server.openStreams == 0)
        let failure = HTTP2StreamFailure(code: .flowControlError, cause: .connection(error), processing: .unknown)
        #expect(server.takeEvents() == [.reset(StreamID(1), failure), .reset(StreamID(3), failure)])
        #expect(expectError("RFC 9113 §6.9.1") { try server.receive([0]) } == error)
        #expect(expectError("RFC 9113 §6.9.1") { try server.tick(now: .seconds(1)) } == error)
        #expect(expectError("RFC 9113 §6.9.1") { try server.receiveEnd(now: .seconds(1)) } == error)
        #expect(server.outputCount == 0 && server.nextEvent() == nil)
    }

    /// The reason is cut at 128 bytes, so that a peer cannot make this side repeat what it has sent.
    @Test func aReasonInGoAwayIsShort() throws {
        var server = HTTP2ServerMachine(now: .zero)
        let line = "GET /" + String(repeating: "a", count: 100) + " HTTP/1.1\r\n"
        let error = try #require(expectError("RFC 9113 §3.4") { try server.receive(Array(line.utf8)) })
        let first = "GET /" + String(repeating: "a", count: 59)
        #expect(error.reason == "the peer speaks HTTP/1.1 and not HTTP/2: its first line is '\(first)'")
        guard case .goAway(let end) = try server.takeParts().last else { throw MachinePair.NoRoom() }
        #expect(end.debugData == Array(error.reason.utf8.prefix(128)))
    }

    @Test func theFirstBytes() throws {
        for (bytes, word) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1"), ("PRI * HTTP/2.0\r\n\r\nXX", "preface"),
        ] {
            for size in [1, 5, 100] {
                var server = HTTP2ServerMachine(now: .zero)
                let error = #expect(throws: HTTP2Error.self) { try server.receive(Array(bytes.utf8), inPiecesOf: size) }
                #expect(error?.rule == "RFC 9113 §3.4" && error?.code == .protocolError)
                if size == 100 { #expect(error?.reason.contains(word) == true) }
            }
        }
        for bytes in [Array("HTTP/1.1 400 Bad Request\r\n".utf8), Wire.settingsAcknowledgment, Wire.response(1)] {
            var client = HTTP2ClientMachine(now: .zero)
            _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
            let error = #expect(throws: HTTP2Error.self) { try client.receive(bytes) }
            #expect(error?.rule == "RFC 9113 §3.4")
            if bytes.first == UInt8(ascii: "H") {
                #expect(error?.reason.contains("'HTTP/1.1 400 Bad Request'") == true)
            }
        }
    }
}
