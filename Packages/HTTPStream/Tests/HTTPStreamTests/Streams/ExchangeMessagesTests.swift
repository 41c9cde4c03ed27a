import EventLoops
import Foundation
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// What both carriers decide alike, without a connection.
@Suite struct ExchangeMessagesTests {
    /// An output that accepts some bytes, and then behaves as it is told.
    private final class Output: ExchangeOutput {
        var writeFailureSource = CarrierFailure.Source.connection
        var hasArrivals = false
        var isRefused = false
        var room = Int.max
        var failure: StreamError?
        private(set) var written: [UInt8] = []
        private(set) var hasEnded = false

        func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
            if let failure { throw failure }
            let count = min(room, bytes.byteCount)
            if count == 0 { return nil }
            room -= count
            for index in 0..<count { written.append(bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
            return count
        }

        func tryFlush() throws(StreamError) -> Bool { true }

        func tryEnd(_ trailers: HTTPFields?) throws(StreamError) -> Bool {
            hasEnded = true
            return true
        }
    }

    private func messages(
        _ method: HTTPMethod = .get, body: HTTPBody? = nil, expectsContinue: Bool = false
    ) throws -> ExchangeMessages {
        let head = RequestPreparation.Head(
            bytes: Array("head".utf8), bodyLength: body == nil ? nil : 4, expectsContinue: expectsContinue)
        return try ExchangeMessages(head, method, body, loop: .shared)
    }

    /// Names an outcome of sending.
    private func name(_ sending: ExchangeMessages.Sending) -> String {
        switch sending {
        case .done: "done"
        case .held: "held"
        case .blocked(let need): "blocked: \(need)"
        case .answered: "answered"
        case .failed: "failed"
        }
    }

    /// The failure of a call, if it fails.
    private func failure(_ call: () throws -> Void) -> CarrierFailure? {
        do { try call() } catch { return error as? CarrierFailure }
        return nil
    }

    @Test("a request is sent with its body, and ends the output")
    func aRequest() throws {
        for body in [nil, HTTPBody.bytes(Array("body".utf8))] {
            var messages = try messages(body == nil ? .get : .put, body: body)
            let output = Output()
            var deferred = DeferredActions()
            let outcome = name(try messages.send(to: output, &deferred))
            #expect(outcome == "done" && output.hasEnded)
            #expect(String(decoding: output.written, as: UTF8.self) == (body == nil ? "head" : "headbody"))
            // Nothing is left to send, so the exchange needs input.
            let need = try messages.sendInsteadOfReading(to: output, &deferred)
            #expect(need == .input)
        }
    }

    @Test("a full output is waited for, unless something has arrived", arguments: [false, true])
    func aFullOutput(_ hasArrivals: Bool) throws {
        var messages = try messages()
        let output = Output()
        output.room = 2
        output.hasArrivals = hasArrivals
        var deferred = DeferredActions()
        let outcome = name(try messages.send(to: output, &deferred))
        #expect(outcome == (hasArrivals ? "answered" : "blocked: room") && !output.hasEnded)
    }

    @Test("a body waits for 100 (Continue), and is sent once")
    func aHeldBody() throws {
        var messages = try messages(.put, body: .bytes(Array("body".utf8)), expectsContinue: true)
        let output = Output()
        var deferred = DeferredActions()
        let outcome = name(try messages.send(to: output, &deferred))
        #expect(outcome == "held" && !output.hasEnded)
        let permission = try messages.sendInsteadOfReading(to: output, &deferred)
        #expect(permission == .permission)
        let response = try HTTPResponse(status: .continue)
        guard case .interim = try messages.receive(response, leniency: .client, .shared, &deferred) else {
            Issue.record("a 100 is no final response")
            return
        }
        let need = try messages.sendInsteadOfReading(to: output, &deferred)
        #expect(need == .input && output.hasEnded)
        #expect(String(decoding: output.written, as: UTF8.self) == "headbody")
    }

    @Test("after a failed write, a connection may still have the response; a stream that cannot carry the body has not")
    func aFailedWrite() throws {
        var deferred = DeferredActions()
        let output = Output()
        output.failure = .closed
        var first = try messages()
        let outcome = name(try first.send(to: output, &deferred))
        #expect(outcome == "failed")
        let again = try first.sendInsteadOfReading(to: output, &deferred)
        // Sending has been stopped.
        let need = try first.sendInsteadOfReading(to: output, &deferred)
        #expect(again == nil && need == .input)
        output.writeFailureSource = .caller
        var second = try messages()
        let error = failure { _ = try second.send(to: output, &deferred) }
        #expect(error?.source == .caller)
        output.hasArrivals = true
        var third = try messages()
        let answered = name(try third.send(to: output, &deferred))
        #expect(answered == "answered")
    }

    @Test("a server that wants no more of a request gets no more")
    func aRefusedRequest() throws {
        var messages = try messages(.put, body: .bytes(Array("body".utf8)))
        let output = Output()
        output.isRefused = true
        var deferred = DeferredActions()
        let outcome = name(try messages.send(to: output, &deferred))
        #expect(outcome == "done" && output.written.isEmpty && !output.hasEnded)
    }

    @Test(
        "the head of a response says what it means for the request",
        arguments: [
            (200, false, HeadVerdict.answer), (417, true, .refusesExpectation), (417, false, .answer),
            (408, false, .crossed),
        ])
    func aHead(_ status: Int, _ isHeld: Bool, _ expected: HeadVerdict) throws {
        var messages = try messages(.put, body: .bytes(Array("body".utf8)), expectsContinue: isHeld)
        var deferred = DeferredActions()
        _ = try messages.send(to: Output(), &deferred)
        let response = try HTTPResponse(status: try #require(HTTPStatus(status)))
        guard case .body(_, let verdict) = try messages.receive(response, leniency: .client, .shared, &deferred) else {
            Issue.record("the response is final")
            return
        }
        let kept = messages.response?.status.code
        #expect(verdict == expected && kept == status)
    }

    @Test("a switch of protocols that the request has not offered is the server's failure")
    func aSwitch() throws {
        var messages = try messages()
        var deferred = DeferredActions()
        _ = try messages.send(to: Output(), &deferred)
        let response = try HTTPResponse(status: .switchingProtocols)
        let error = failure { _ = try messages.receive(response, leniency: .client, .shared, &deferred) }
        #expect(error?.source == .server)
    }
}
