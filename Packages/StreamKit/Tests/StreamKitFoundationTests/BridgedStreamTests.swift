import Foundation
import Glibc
import StreamKitFoundation
import Testing

/// The bridged streams over memory, files and bound pairs.
@Suite(.timeLimit(.minutes(5))) struct BridgedStreamTests {
    // Parity: SK-063, SK-077
    @Test("SK-063, SK-077: a delegate gets its events on its loop, in Apple's order, and can read")
    func eventsInOrder() async throws {
        try await onThread {
            let recorder = EventRecorder { stream, event in
                if event == .hasBytesAvailable { _ = (stream as? InputStream)?.bytes(2) }
            }
            let input = BridgedInputStream(data: Data("abc".utf8))
            #expect(input.delegate === input)
            input.delegate = recorder
            #expect(input.delegate === recorder)
            input.schedule(in: .current, forMode: .default)
            input.open()
            #expect(recorder.events.isEmpty, "never during the caller's own call")
            #expect(runLoop { recorder.events.last == "in end" })
            #expect(recorder.events == ["in open", "in bytes", "in bytes", "in end"])
            #expect(recorder.threads == [UInt(pthread_self())])
            input.close()
            #expect(RunLoop.current.run(mode: .default, before: .distantFuture) == false, "nothing is left on the loop")
        }
    }

    /// SK-073: scheduling, opening and naming the delegate in any order.
    // Parity: SK-073
    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func anyOrder(_ order: [Int]) async throws {
        try await onThread {
            let recorder = EventRecorder { stream, _ in _ = (stream as? InputStream)?.bytes() }
            let input = BridgedInputStream(data: Data([1]))
            for step in order {
                switch step {
                case 0: input.delegate = recorder
                case 1: input.schedule(in: .current, forMode: .common)
                default: input.open()
                }
            }
            #expect(runLoop { recorder.events.last == "in end" })
            #expect(recorder.events == ["in open", "in end"], "it read everything in its open event")
            input.close()
        }
    }

    // Parity: SK-074
    @Test("SK-074: removed and closed in any order, twice or never scheduled: no further events")
    func teardown() async throws {
        try await onThread {
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1, 0]] {
                let recorder = EventRecorder()
                let input = BridgedInputStream(data: Data([1]))
                input.delegate = recorder
                input.schedule(in: .current, forMode: .default)
                input.open()
                for step in order {
                    switch step {
                    case 0: input.close()
                    case 1: input.remove(from: .current, forMode: .default)
                    default: input.delegate = nil
                    }
                }
                _ = RunLoop.current.run(mode: .default, before: Date())
                #expect(recorder.events.isEmpty)
            }
        }
    }

    // Parity: SK-063
    @Test(
        "SK-063: delegates are held weakly; nil means the stream itself; the next delegate gets the remaining events"
    )
    func delegates() async throws {
        try await onThread {
            let (input, output) = boundPair(64)
            input.schedule(in: .current, forMode: .default)
            do {
                let first = EventRecorder()
                input.delegate = first
                input.open()
                output.open()
                #expect(runLoop { first.events == ["in open"] })
            }
            #expect(input.delegate === input)
            let second = EventRecorder()
            input.delegate = second
            #expect(output.write([1], maxLength: 1) == 1)
            #expect(runLoop { second.events == ["in bytes"] })
            input.close()
            output.close()
        }
    }

    // Parity: SK-076
    @Test("SK-076: a scheduled, open stream lives without its owner; unscheduled, it is released")
    func staysAlive() async throws {
        try await onThread {
            weak var weakly: BridgedInputStream?
            let recorder = EventRecorder { stream, event in
                if event == .hasBytesAvailable { _ = (stream as? InputStream)?.bytes() }
                if event == .endEncountered { stream.close() }
            }
            do {
                let input = BridgedInputStream(data: Data([1, 2]))
                weakly = input
                input.delegate = recorder
                input.schedule(in: .current, forMode: .default)
                input.open()
            }
            #expect(weakly != nil)
            #expect(runLoop { recorder.events.last == "in end" })
            #expect(weakly == nil)
            do {
                let input = BridgedInputStream(data: Data([1, 2]))
                weakly = input
                input.schedule(in: .current, forMode: .default)
                input.open()
                input.remove(from: .current, forMode: .default)
            }
            #expect(weakly == nil)
        }
    }

    // Parity: SK-024, SK-030, SK-031
    @Test("SK-024, SK-030, SK-031: states, and reading in the wrong one")
    func states() {
        let input = BridgedInputStream(data: Data([1]))
        #expect(input.streamStatus == .notOpen && input.bytes() == nil && !input.hasBytesAvailable)
        #expect(input.streamError == nil, "Foundation's own traps here")
        input.open()
        input.open()
        #expect(input.streamStatus == .open && input.hasBytesAvailable)
        #expect(input.bytes() == [1] && input.bytes() == [] && input.bytes() == [])
        #expect(input.streamStatus == .atEnd)
        input.close()
        input.close()
        #expect(input.streamStatus == .closed && input.bytes() == nil && input.streamError == nil)
        input.open()
        #expect(input.streamStatus == .closed)
    }

    // Parity: SK-027
    @Test("SK-027: memory lends its bytes; other streams do not")
    func lending() {
        let input = BridgedInputStream(data: Data("hello".utf8))
        var pointer: UnsafeMutablePointer<UInt8>?
        var count = 0
        #expect(!input.getBuffer(&pointer, length: &count))
        input.open()
        #expect(input.bytes(1) == [UInt8(ascii: "h")])
        #expect(input.getBuffer(&pointer, length: &count))
        #expect(Array(UnsafeBufferPointer(start: pointer, count: count)) == Array("ello".utf8))
        #expect(!input.getBuffer(&pointer, length: &count))
        #expect(input.bytes() == [])
        // The bytes after those that were read, where they are: nothing is copied.
        let large = BridgedInputStream(data: Data((0..<100).map { UInt8($0) }))
        large.open()
        var first: UnsafeMutablePointer<UInt8>?
        #expect(large.bytes(1) == [0] && large.getBuffer(&first, length: &count) && count == 99 && first?[0] == 1)
        let empty = BridgedInputStream(data: Data())
        empty.open()
        #expect(!empty.getBuffer(&pointer, length: &count))
        let file = BridgedInputStream(fileAtPath: "/etc/passwd")
        file?.open()
        #expect(file?.getBuffer(&pointer, length: &count) == false)
    }

    // Parity: SK-002, SK-003, SK-005
    @Test("SK-002, SK-003, SK-005: files")
    func files() throws {
        let path = NSTemporaryDirectory() + "netkit-\(UUID().uuidString)"
        defer { unlink(path) }
        for (appends, expected) in [(false, "one"), (true, "oneone"), (false, "one")] {
            let output = try #require(BridgedOutputStream(toFileAtPath: path, append: appends))
            output.open()
            #expect(output.write(Array("one".utf8), maxLength: 3) == 3)
            output.close()
            let input = try #require(BridgedInputStream(fileAtPath: path))
            input.open()
            #expect(input.all() == Array(expected.utf8))
        }
        let input = try #require(BridgedInputStream(url: URL(fileURLWithPath: path)))
        input.open()
        #expect(input.setProperty(NSNumber(value: 2), forKey: .fileCurrentOffsetKey))
        #expect(input.property(forKey: .fileCurrentOffsetKey) as? Int == 2)
        #expect(!input.setProperty(NSNumber(value: -2), forKey: .fileCurrentOffsetKey))
        #expect(input.all() == Array("e".utf8))
        let missing = try #require(BridgedInputStream(fileAtPath: path + "-not"))
        missing.open()
        #expect(missing.streamStatus == .error)
        let error = try #require(missing.streamError as NSError?)
        #expect(error.domain == NSPOSIXErrorDomain && error.code == Int(ENOENT))
        #expect(error.localizedDescription.contains("cannot be opened"))
        #expect(BridgedInputStream(url: try #require(URL(string: "http://localhost/"))) == nil)
        #expect(BridgedOutputStream(url: try #require(URL(string: "http://localhost/")), append: true) == nil)
    }

    // Parity: SK-007, SK-008
    @Test("SK-007, SK-008: growing memory, and the caller's memory, which ends when it is full")
    func memory() {
        let growing: OutputStream = BridgedOutputStream.toMemory()
        growing.open()
        #expect(growing.hasSpaceAvailable && growing.streamError == nil)
        #expect(growing.write([1, 2, 3], maxLength: 2) == 2)
        #expect(growing.write([4], maxLength: 1) == 1)
        growing.close()
        #expect(growing.property(forKey: .dataWrittenToMemoryStreamKey) as? Data == Data([1, 2, 4]))
        var room: [UInt8] = [0, 0, 0, 0, 9]
        room.withUnsafeMutableBufferPointer { memory in
            guard let start = memory.baseAddress else { return }
            let fixed = BridgedOutputStream(toBuffer: start, capacity: 4)
            fixed.open()
            #expect(fixed.write([1, 2, 3, 4, 5, 6], maxLength: 6) == 4)
            #expect(fixed.write([5], maxLength: 1) == 0)
            #expect(fixed.streamStatus == .atEnd)
        }
        #expect(room == [1, 2, 3, 4, 9])
    }

    // Parity: SK-009
    @Test("SK-009: a bound pair, with a delegate on each side and a very small buffer")
    func bound() async throws {
        try await onThread {
            let (input, output) = boundPair(64)
            let sent = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
            var rest = sent[...]
            var received: [UInt8] = []
            let recorder = EventRecorder { stream, event in
                switch event {
                case .hasSpaceAvailable:
                    guard let output = stream as? OutputStream else { return }
                    if rest.isEmpty { return output.close() }
                    rest = rest.dropFirst(
                        Array(rest).withUnsafeBufferPointer { bytes in
                            bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
                        })
                case .hasBytesAvailable: received += (stream as? InputStream)?.bytes() ?? []
                default: break
                }
            }
            for stream in [input, output] as [Stream] {
                stream.delegate = recorder
                stream.schedule(in: .current, forMode: .default)
                stream.open()
            }
            #expect(runLoop { recorder.events.last == "in end" })
            #expect(received == sent)
            #expect(recorder.events(of: "in").first == "open" && recorder.events(of: "out").first == "open")
            input.close()
        }
    }

    // Parity: SK-055
    @Test("SK-055: unknown properties are nil, and refused")
    func unknownProperties() {
        let input = BridgedInputStream(data: Data())
        let unknown = Stream.PropertyKey("nothing")
        #expect(input.property(forKey: unknown) == nil && !input.setProperty(NSNumber(value: 1), forKey: unknown))
        #expect(input.property(forKey: .socketSecurityLevelKey) == nil, "no connection")
        #expect(!input.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey))
        #expect(!input.setProperty(Data(), forKey: .dataWrittenToMemoryStreamKey), "read-only")
    }

    // Parity: SK-090, SK-091
    @Test(
        "SK-090, SK-091: streams without TLS refuse it and report no level", arguments: [false, true])
    func noTLS(_ isOpen: Bool) throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let reading = StreamPair(descriptor: ends[0], ownership: .owned)
        let writing = StreamPair(descriptor: ends[1], ownership: .owned)
        for pair in [StreamPair.bound(), reading, writing] {
            var input: InputStream?
            var output: OutputStream?
            Stream.getStreams(of: pair, inputStream: &input, outputStream: &output)
            let streams: [Stream] = [try #require(input), try #require(output)]
            if isOpen { streams.forEach { $0.open() } }
            for stream in streams {
                #expect(!stream.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey))
                #expect(!stream.setProperty([StreamSSLSetting: Any](), forKey: .sslSettingsKey))
                #expect(!stream.setProperty(TLSConfiguration(), forKey: .sslContextKey))
                let socks = [StreamSOCKSProxyConfiguration.hostKey: "proxy.test"]
                #expect(!stream.setProperty(socks, forKey: .socksProxyConfigurationKey))
                #expect(!stream.setProperty(NSNumber(value: 3), forKey: .fileCurrentOffsetKey))
                #expect(stream.property(forKey: .socketSecurityLevelKey) == nil)
                stream.close()
            }
        }
    }
}

/// The two ends of a buffer.
func boundPair(_ size: Int) -> (InputStream, OutputStream) {
    var input: InputStream?
    var output: OutputStream?
    Stream.getBoundStreams(withBufferSize: size, inputStream: &input, outputStream: &output)
    return (input ?? InputStream(data: Data()), output ?? .toMemory())
}
