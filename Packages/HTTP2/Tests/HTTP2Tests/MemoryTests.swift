import Glibc
@_spi(Packages) import HTTPMessage
import Testing

@testable import HTTP2

/// A peer that fills all that it can, with a program that takes nothing.
///
/// What the machine holds then is exact: the test states it by the limits. What the allocator has given out is not, as it rounds each
/// block up and arrays grow ahead of their elements: it lies between what is held and ``HTTP2Limits/maximumMemory``.
///
/// Each test is a process of its own, in which no other test allocates.
struct MemoryTests {
    @Test func unreadBodies() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(Memory.bodies, holding: 20 * 512 * 1024) { limits in
                limits.maximumConcurrentStreams = 20
                limits.initialStreamWindow = 512 * 1024
            }
        }
    }

    /// Windows of 64 KiB double while those of all streams and the reserve are below 8 MiB.
    @Test func unreadBodiesInGrownWindows() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(Memory.grownBodies, holding: (64 + 32 + 16 + 8) * 65_536) { limits in
                limits.maximumConcurrentStreams = 4
                limits.initialStreamWindow = 65_536
                limits.maximumConnectionWindow = 8 * 1024 * 1024
            }
        }
    }

    /// Three lists for each stream: that of the head, that of the trailers, and one that 16 interim responses share.
    ///
    /// A list counts 32 bytes for each field (RFC 9113 §6.5.2), a field has four others in memory, and `:status` is no field: 70 bytes are
    /// lost for each head, and 56 for trailers.
    @Test func heads() async {
        await #expect(processExitsWith: .success) {
            let lists = 3 * 512 * 1024 - 17 * 70 - 56
            try Memory.check({ try Memory.heads($0, fieldCount: 1) }, holding: 10 * lists) { limits in
                limits.maximumConcurrentStreams = 10
                limits.initialStreamWindow = 0
                limits.fieldSection.listSize = 512 * 1024
            }
        }
    }

    /// The smallest fields: 33 bytes of a list are 5 in memory, and their positions. 1,900 fields are in the head and in the trailers, and 119
    /// in each interim response.
    @Test func headsOfSmallFields() async {
        await #expect(processExitsWith: .success) {
            let lists = 2 * (64 * 1024 - 1899 * 28) - 70 - 56 + 16 * (4096 - 118 * 28 - 70)
            try Memory.check({ try Memory.heads($0, fieldCount: 1900) }, holding: 10 * lists) { limits in
                limits.maximumConcurrentStreams = 10
                limits.initialStreamWindow = 0
                limits.fieldSection.listSize = 64 * 1024
                limits.fieldSection.fieldCount = 2000
            }
        }
    }

    /// SETTINGS of four entries, its acknowledgment, PINGs until one exceeds the limit, and GOAWAY.
    @Test func output() async {
        await #expect(processExitsWith: .success) {
            var limits = HTTP2Limits()
            limits.maximumOutput = 1024 * 1024
            let (header, first) = (FrameHeader.size, 2 * FrameHeader.size + 4 * Setting.size)
            let pings = (limits.maximumQueuedAnswers - first) / (header + 8) + 1
            let end = header + 8 + "the peer does not read the answers to its frames".utf8.count
            try Memory.check(Memory.output, holding: first + pings * (header + 8) + end) { limits in
                limits.maximumConcurrentStreams = 1
                limits.maximumOutput = 1024 * 1024
                limits.pings = HTTP2Rate(burst: 1_000_000, perSecond: 1)
            }
        }
    }

    /// Many streams with little in them: a trailer field of ten bytes.
    @Test func tables() async {
        await #expect(processExitsWith: .success) {
            try Memory.check({ try Memory.heads($0, fieldCount: 0) }, holding: 2000 * 10) { limits in
                limits.maximumConcurrentStreams = 2000
                limits.initialStreamWindow = 0
                limits.fieldSection.listSize = 1000
            }
        }
    }

    /// Trailers that are not allowed (RFC 9110 §6.5.1) leave no memory behind: a list of them costs less than one of allowed fields, by as
    /// many bytes at least as the program does not get.
    @Test func forbiddenTrailers() async {
        await #expect(processExitsWith: .success) {
            var limits = HTTP2Limits()
            limits.initialStreamWindow = 0
            let allowed = try Memory.measure(limits) { try Memory.trailers($0, "x-allowed-") }
            let forbidden = try Memory.measure(limits) { try Memory.trailers($0, "set-cookie") }
            #expect(allowed.content == 255 * (10 + 900 + 4) + (1 + 4) && forbidden.content == 1 + 4)
            #expect(allowed.used - forbidden.used >= allowed.content - forbidden.content)
        }
    }

    @Test func theNumberOfTheDocumentation() {
        let limits = HTTP2Limits()
        let grown = Double(limits.maximumMemory) / 1_048_576
        #expect(grown.rounded() == 146)
        var initial = limits
        initial.maximumConnectionWindow = 0
        #expect((Double(initial.maximumMemory) / 1_048_576).rounded() == 108)
    }
}

/// What peers fill.
private enum Memory {
    /// Fills a machine, and compares what it holds with a number, and what is allocated meanwhile with the limits.
    static func check<Side>(
        _ fill: (HTTP2Limits) throws -> HTTP2Machine<Side>, holding expected: Int, _ change: (inout HTTP2Limits) -> Void
    ) throws {
        var limits = HTTP2Limits()
        limits.connectionWindowReserve = SendWindow.initial
        limits.maximumConnectionWindow = 0
        limits.fieldSection.listSize = 1024
        limits.maximumOutput = 1
        change(&limits)
        let (used, content, elements, hasBodies) = try measure(limits, fill)
        #expect(content == expected, "\(content) bytes, and not \(expected)")
        // Without bodies, neither their windows are used nor the memory that streams keep for the next body.
        let kept = 2 * limits.maximumConcurrentStreams * BodyRing.keptCapacity
        let bodies = hasBodies ? 0 : Int(limits.effectiveConnectionWindow) + kept
        let range = content + elements...limits.maximumMemory - bodies
        #expect(range.contains(used), "\(used) bytes are not within \(range)")
    }

    /// The bytes that are allocated for a machine that is filled, those of bodies, fields and frames that it holds, and those of its
    /// streams and events by themselves.
    static func measure<Side>(
        _ limits: HTTP2Limits, _ fill: (HTTP2Limits) throws -> HTTP2Machine<Side>
    ) throws -> (used: Int, content: Int, elements: Int, hasBodies: Bool) {
        // The first machine makes what is there once in a process.
        _ = try fill(limits)
        let before = allocated()
        var machine = try fill(limits)
        let used = allocated() - before
        let bodies = machine.connection.streams.indices.reduce(0) { $0 + machine.connection.streams[$1].body.count }
        let eventCount = machine.connection.events.count
        var content = bodies + machine.outputCount
        while let event = machine.nextEvent() {
            switch event {
            case .interim(_, let head), .response(_, let head): content += bytes(of: head.fields)
            case .trailers(_, let fields): content += bytes(of: fields)
            default: break
            }
        }
        let streams = machine.connection.streams.count * MemoryLayout<HTTP2.Stream>.stride
        return (used, content, streams + eventCount * MemoryLayout<HTTP2Event>.stride, bodies > 0)
    }

    private static func bytes(of fields: HTTPFields) -> Int {
        fields.reduce(0) { $0 + $1.name.name.utf8.count + $1.rawValue.count + HTTPFields.Builder.bytesPerField }
    }

    /// The bytes that the allocator has given out.
    private static func allocated() -> Int {
        // Not in Swift's Glibc module.
        typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
        guard let symbol = dlsym(nil, "malloc_info") else { preconditionFailure("there is no malloc_info") }
        var (text, count): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        guard let file = open_memstream(&text, &count) else { preconditionFailure("there is no memory") }
        _ = unsafeBitCast(symbol, to: Report.self)(0, file)
        fclose(file)
        defer { free(text) }
        let report = text.map { String(cString: $0) } ?? ""
        // The totals of all heaps are behind the last of them.
        let totals = report.split(separator: "</heap>").last ?? ""
        func size(_ tag: Substring) -> Int {
            let line = totals.split(separator: "\n").first { $0.hasPrefix(tag) }
            let number = line?.split(separator: "size=\"").last?.prefix { $0.isNumber }
            return number.flatMap { Int($0) } ?? 0
        }
        let free = size("<total type=\"fast\"") + size("<total type=\"rest\"")
        return size("<system type=\"current\"") - free + size("<total type=\"mmap\"")
    }

    private static let piece = [UInt8](repeating: 7, count: 16_384)

    /// A server with all streams, whose windows are full.
    static func bodies(_ limits: HTTP2Limits) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        for index in 0..<UInt32(limits.maximumConcurrentStreams) {
            try server.receive(Wire.post(1 + 2 * index))
            try fillWindow(of: 1 + 2 * index, &server)
        }
        server.didWrite(server.outputCount)
        return server
    }

    private static func fillWindow(of stream: UInt32, _ server: inout HTTP2ServerMachine) throws {
        while let index = server.connection.streams.index(of: StreamID(stream)) {
            let rest = Int(server.connection.streams[index].receiveWindow.available)
            if rest == 0 { return }
            try server.receive(Wire.frame(.data, on: stream, Array(piece.prefix(rest))))
        }
    }

    /// The same, once a program that reads at once has made the windows grow.
    static func grownBodies(_ limits: HTTP2Limits) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface, now: .seconds(1))
        var memory = [UInt8](repeating: 0, count: 1024 * 1024)
        for index in 0..<UInt32(limits.maximumConcurrentStreams) {
            try server.receive(Wire.post(1 + 2 * index), now: .seconds(1))
            let stream = StreamID(1 + 2 * index)
            let position = server.connection.streams.index(of: stream) ?? 0
            // At the end, the client has the credit for all that was read.
            for number in 0... {
                if number >= 200, server.connection.streams[position].receiveWindow.pending == 0 { break }
                try server.receive(Wire.frame(.data, on: 1 + 2 * index, piece), now: .seconds(1))
                var span = memory.mutableSpan
                var target = span.mutableBytes
                _ = try server.read(stream, into: &target, now: .seconds(1))
            }
        }
        for index in 0..<UInt32(limits.maximumConcurrentStreams) { try fillWindow(of: 1 + 2 * index, &server) }
        server.didWrite(server.outputCount)
        return server
    }

    /// A client with all streams, whose responses, trailers and interim responses are as large as they may be.
    static func heads(_ limits: HTTP2Limits, fieldCount: Int) throws -> HTTP2ClientMachine {
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        let settings = [Setting(.maximumConcurrentStreams, UInt32(limits.maximumConcurrentStreams))]
        try client.receive(Wire.frames { $0.appendSettings(settings) } + Wire.settingsAcknowledgment)
        let count = limits.maximumInterimResponses
        for _ in 0..<limits.maximumConcurrentStreams {
            let request = try MachinePair.head()
            guard let stream = try client.request(request, endsHere: true, now: .zero) else { continue }
            client.didWrite(client.outputCount)
            // The interim responses share one list.
            for _ in 0..<count {
                let part = (fieldCount + count - 1) / count
                try receive(":status", "103", part, limits.fieldSection.listSize / count, stream, &client)
            }
            try receive(":status", "200", fieldCount, limits.fieldSection.listSize, stream, &client)
            try receive("x-end", "1", fieldCount, limits.fieldSection.listSize, stream, ends: true, &client)
        }
        #expect(client.connection.events.count == 1 + limits.maximumConcurrentStreams * (count + 3))
        return client
    }

    /// Passes a head to a client whose list of fields has this size: the first one, small ones, and a large one.
    private static func receive(
        _ name: String, _ value: String, _ fieldCount: Int, _ size: Int, _ stream: StreamID, ends: Bool = false,
        _ client: inout HTTP2ClientMachine
    ) throws {
        var fields = [(name, value)] + [(String, String)](repeating: ("a", ""), count: max(0, fieldCount - 1))
        let used = fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
        if fieldCount > 0 { fields.append(("b", String(repeating: "v", count: size - used - 33))) }
        let block = Wire.block(fields)
        for start in stride(from: 0, to: block.count, by: 16_384) {
            let end = min(block.count, start + 16_384)
            var flags: FrameFlags = end == block.count ? .endHeaders : []
            if ends, start == 0 { flags.insert(.endStream) }
            let kind = start == 0 ? FrameKind.headers : .continuation
            try client.receive(Wire.frame(kind, flags, on: stream.rawValue, Array(block[start..<end])))
        }
    }

    /// A server whose driver does not write, at the limit of its output.
    static func output(_ limits: HTTP2Limits) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        let pings = [[UInt8]](repeating: Wire.frames { $0.appendPing(1, isAcknowledgment: false) }, count: 500)
        let frames = pings.flatMap { $0 }
        do { while true { try server.receive(frames) } } catch {}
        return server
    }

    /// A server that has received trailers of 255 fields with a name of 10 bytes, and one other.
    static func trailers(_ limits: HTTP2Limits, _ name: String) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        let field = (name, String(repeating: "v", count: 900))
        let block = Wire.block([(String, String)](repeating: field, count: 255) + [("x", "")])
        for start in stride(from: 0, to: block.count, by: 16_384) {
            let piece = Array(block[start...].prefix(16_384))
            let isLast = start + piece.count == block.count
            let flags: FrameFlags = start == 0 ? .endStream : isLast ? .endHeaders : []
            try server.receive(Wire.frame(start == 0 ? .headers : .continuation, flags, on: 1, piece))
        }
        // The request is no part of the comparison, and the output is the same.
        _ = server.nextEvent()
        _ = server.nextEvent()
        server.didWrite(server.outputCount)
        return server
    }
}
