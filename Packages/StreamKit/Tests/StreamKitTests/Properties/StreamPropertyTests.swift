import EventLoops
import Testing

@testable import StreamKit

@Suite struct StreamPropertyTests {
    /// A transport that has no property, and counts the calls that ask for one.
    private final class Unknowing: StreamTransport {
        let waitPoint = WaitPoint()
        let calls = Locked(0)

        func property(named name: String) -> (any Sendable)? {
            calls.withLock { $0 += 1 }
            return nil
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func peek() throws(StreamError) -> Attempt { .ended }
        func writability() throws(StreamError) -> Attempt { .ended }
    }

    private func pair() -> StreamPair { StreamPair(addresses: [], name: "www.example.org") }

    // Parity: SK-055
    @Test("SK-055: read-only properties cannot be set") func readOnly() throws {
        let pair = pair()
        #expect(throws: StreamError.self) { try pair.set(.remoteHostName, to: "else") }
        #expect(throws: StreamError.self) { try pair.set(.remotePort, to: 1) }
        #expect(throws: StreamError.self) { try pair.set(.nativeDescriptor, to: 1) }
        #expect(throws: StreamError.self) { try pair.set(.report, to: nil) }
        #expect(pair[.remoteHostName] == "www.example.org")
    }

    // Parity: SK-055
    @Test("SK-055: some properties can be set until open, some always") func access() throws {
        let (wire, _) = TestWire.pair()
        let stream = ReadStream(transport: wire)
        try stream.set(.openTimeout, to: .seconds(1))
        #expect(stream[.openTimeout] == .seconds(1))
        try stream.open()
        let error = #expect(throws: StreamError.self) { try stream.set(.openTimeout, to: .seconds(2)) }
        #expect(error?.isPOSIX(22) == true)
        #expect(error?.description.contains("openTimeout") == true)
        #expect(stream[.openTimeout] == .seconds(1))
        try stream.set(.readTimeout, to: .seconds(3))
        #expect(stream[.readTimeout] == .seconds(3))
        try stream.set(.readTimeout, to: nil)
        #expect(stream[.readTimeout] == nil)
    }

    @Test("a transport is asked once for a property, before and after open") func askedOnce() throws {
        let transport = Unknowing()
        let stream = ReadStream(transport: transport)
        #expect(stream[.remoteHostName] == nil)
        #expect(transport.calls.withLock { $0 } == 1)
        try stream.open()
        #expect(stream[.remoteHostName] == nil)
        #expect(transport.calls.withLock { $0 } == 2)
        stream.close()
    }

    // Parity: SK-055
    @Test("SK-055: a property of a pair applies to both halves; nil restores the default") func bothHalves() throws {
        let pair = pair()
        try pair.input.set(.attemptDelay, to: .milliseconds(100))
        #expect(pair.output[.attemptDelay] == .milliseconds(100))
        try pair.output.set(.attemptDelay, to: nil)
        #expect(pair.input[.attemptDelay] == .milliseconds(250))
        #expect(pair[.openTimeout] == .seconds(75))
        #expect(pair[.sendsAtOnce] == true && pair[.keepsAlive] == false)
    }

    @Test("custom properties are kept, by name and type") func ownProperties() throws {
        let own = StreamProperty<[String]>("Tests.own", access: .always, default: ["none"])
        let stream = WriteStream(toMemoryOfCapacity: nil)
        #expect(stream[own] == ["none"])
        try stream.set(own, to: ["a"])
        #expect(stream[own] == ["a"])
        #expect(stream[StreamProperty<Int>("Tests.own", access: .always)] == nil)
        var properties = StreamProperties()
        properties[own] = ["b"]
        #expect(properties[own] == ["b"])
        properties[own] = nil
        #expect(properties[own] == ["none"])
    }

    // Parity: SK-030
    @Test(
        "SK-030: CFStream's numbers",
        arguments: zip(
            [StreamStatus.notOpen, .opening, .open, .reading, .writing, .atEnd, .closed, .error], 0...7))
    func statusNumbers(_ status: StreamStatus, _ number: Int) {
        #expect(status.rawValue == number)
    }
}
