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

    /// A transport that honours two properties: a duration, and an object.
    private final class Honouring: StreamTransport {
        class Object: @unchecked Sendable {}
        final class Derived: Object, @unchecked Sendable {}

        static let pause = StreamProperty<Duration>("Tests.pause", access: .beforeOpen, default: .seconds(1))
        static let object = StreamProperty<Object>("Tests.object", access: .always)

        let waitPoint = WaitPoint()
        let pause = Locked(Duration.seconds(1))
        let object = Locked<Object?>(nil)
        let derived = Locked<Derived?>(nil)
        let values = Locked<[(any Sendable)?]>([])

        func property(named name: String) -> (any Sendable)? {
            switch name {
            case Honouring.pause.name: pause.withLock { $0 }
            case Honouring.object.name: object.withLock { $0 }
            default: nil
            }
        }

        func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
            values.withLock { $0.append(value) }
            switch name {
            case Honouring.pause.name:
                let new = value as? Duration ?? .seconds(1)
                guard new > .zero else { throw .refused(name, "it must be positive.") }
                pause.withLock { $0 = new }
            case Honouring.object.name:
                let new = (value as? Object, value as? Derived)
                object.withLock { $0 = new.0 }
                derived.withLock { $0 = new.1 }
            default: return false
            }
            return true
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .moved(bytes.byteCount) }
        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
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

    @Test("a transport's own properties: set, refused, reset, before and after open") func transportsProperties() throws
    {
        let transport = Honouring()
        let stream = ReadStream(transport: transport)
        try stream.set(Honouring.pause, to: .seconds(2))
        #expect(stream[Honouring.pause] == .seconds(2))
        #expect(throws: StreamError.self) { try stream.set(Honouring.pause, to: .zero) }
        #expect(stream[Honouring.pause] == .seconds(2))
        try stream.set(Honouring.pause, to: nil)
        #expect(stream[Honouring.pause] == .seconds(1))
        var properties = StreamProperties()
        properties[Honouring.pause] = .seconds(3)
        try stream.set(properties)
        #expect(stream[Honouring.pause] == .seconds(3))
        #expect(transport.values.withLock { $0.map { $0 as? Duration } } == [.seconds(2), .zero, nil, .seconds(3)])
        try stream.open()
        #expect(throws: StreamError.self) { try stream.set(Honouring.pause, to: .seconds(4)) }
        #expect(stream[Honouring.pause] == .seconds(3))
        stream.close()
        #expect(throws: StreamError.closed) { try stream.set(Honouring.object, to: nil) }
    }

    /// A value without a size is not mistaken for the default. Optionals are not flattened.
    @Test("values without a size, and optional ones") func unusualValues() throws {
        enum Only: Sendable { case it }
        let only = StreamProperty<Only>("Tests.only", access: .always)
        let void = StreamProperty<Void>("Tests.void", access: .always)
        let maybe = StreamProperty<Int?>("Tests.maybe", access: .always)
        let resolver = StreamProperty<any Error>("Tests.error", access: .always)
        for stream in [ReadStream(bytes: []), ReadStream(transport: Honouring())] {
            try stream.set(only, to: .it)
            try stream.set(void, to: ())
            try stream.set(maybe, to: .some(nil))
            try stream.set(resolver, to: StreamError.closed)
            #expect(stream[only] == .it && stream[void] != nil && stream[maybe] == .some(nil))
            #expect(stream[resolver] as? StreamError == .closed)
            try stream.set(only, to: nil)
            try stream.set(maybe, to: nil)
            try stream.set(resolver, to: nil)
            #expect(stream[only] == nil && stream[maybe] == nil && stream[resolver] == nil && stream[void] != nil)
        }
    }

    /// From the moment at which closing begins, no property can be set, even while the transport is being closed.
    @Test("a property cannot be set while the stream is being closed", arguments: [true, false])
    func setWhileClosing(opens: Bool) throws {
        final class Closing: StreamTransport {
            let waitPoint = WaitPoint()
            let closes = Locked<(@Sendable () -> Void)?>(nil)

            func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .wouldBlock(.readable) }
            func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
            func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
            func writability() throws(StreamError) -> Attempt { .ended }
            func close() { closes.withLock { $0 }?() }
        }
        let transport = Closing()
        let stream = ReadStream(transport: transport)
        let note = StreamProperty<Int>("Tests.note", access: .beforeOpen)
        let errors = Locked<[StreamError?]>([])
        transport.closes.withLock {
            $0 = { [unowned stream] in
                do throws(StreamError) {
                    try stream.set(note, to: 1)
                    errors.withLock { $0.append(nil) }
                } catch {
                    errors.withLock { $0.append(error) }
                }
            }
        }
        if opens { try stream.open() }
        stream.close()
        #expect(errors.withLock { $0 } == [.closed])
    }

    @Test("a value reaches the transport as its own type, as a superclass and as a subclass, without a leak")
    func typesOfValues() throws {
        let transport = Honouring()
        let stream = ReadStream(transport: transport)
        weak var kept: Honouring.Object?
        do {
            let plain = Honouring.Object()
            try stream.set(Honouring.object, to: plain)
            #expect(transport.object.withLock { $0 } === plain && transport.derived.withLock { $0 } == nil)
            let derived = Honouring.Derived()
            kept = derived
            try stream.set(Honouring.object, to: derived)
            #expect(transport.object.withLock { $0 } === derived && transport.derived.withLock { $0 } === derived)
            try stream.open()
            try stream.set(Honouring.object, to: plain)
            var properties = StreamProperties()
            properties[Honouring.object] = derived
            try stream.set(properties)
            #expect(stream[Honouring.object] === derived)
            #expect(stream[StreamProperty<Duration>(Honouring.object.name, access: .always)] == nil)
        }
        transport.values.withLock { $0 = [] }
        transport.derived.withLock { $0 = nil }
        #expect(kept != nil)
        try stream.set(Honouring.object, to: nil)
        #expect(kept == nil && stream[Honouring.object] == nil)
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
