import Glibc
import HTTPMessage
import Testing

@testable import HTTP2

/// A peer that fills all that it can, with a program that takes nothing: the allocator's count stays within
/// ``HTTP2Limits/maximumMemory``, and comes close to it, so that the number is not a guess.
///
/// Each test is a process of its own, in which no other test allocates.
struct MemoryTests {
    @Test func unreadBodies() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.8, Memory.bodies) { limits in
                limits.maximumConcurrentStreams = 20
                limits.initialStreamWindow = 512 * 1024
            }
        }
    }

    @Test func unreadBodiesInGrownWindows() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.8, Memory.grownBodies) { limits in
                limits.maximumConcurrentStreams = 4
                limits.initialStreamWindow = 65_536
                limits.maximumConnectionWindow = 8 * 1024 * 1024
            }
        }
    }

    @Test func heads() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.8, { try Memory.heads($0, fieldCount: 1) }) { limits in
                limits.maximumConcurrentStreams = 10
                limits.initialStreamWindow = 0
                limits.head.listSize = 512 * 1024
            }
        }
    }

    /// The smallest fields need more bookkeeping than bytes.
    @Test func headsOfSmallFields() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.3, { try Memory.heads($0, fieldCount: 1900) }) { limits in
                limits.maximumConcurrentStreams = 10
                limits.initialStreamWindow = 0
                limits.head.listSize = 64 * 1024
                limits.head.fieldCount = 2000
            }
        }
    }

    @Test func output() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.8, Memory.output) { limits in
                limits.maximumConcurrentStreams = 1
                limits.maximumOutput = 1024 * 1024
                limits.pings = HTTP2Rate(burst: 1_000_000, perSecond: 1)
            }
        }
    }

    /// Many streams with little in them.
    @Test func tables() async {
        await #expect(processExitsWith: .success) {
            try Memory.check(atLeast: 0.04, { try Memory.heads($0, fieldCount: 0) }) { limits in
                limits.maximumConcurrentStreams = 2000
                limits.initialStreamWindow = 0
                limits.head.listSize = 1000
            }
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
    /// Fills a machine, and compares the bytes that are allocated meanwhile, and freed with it, with the limits' number.
    static func check<Machine: ~Copyable>(
        atLeast share: Double, _ fill: (HTTP2Limits) throws -> Machine, _ change: (inout HTTP2Limits) -> Void
    ) throws {
        var limits = HTTP2Limits()
        limits.connectionWindowReserve = SendWindow.initial
        limits.maximumConnectionWindow = 0
        limits.head.listSize = 1024
        limits.maximumOutput = 1
        change(&limits)
        // The first machine makes what is there once in a process.
        _ = try fill(limits)
        let before = allocated()
        let machine = try fill(limits)
        let used = allocated() - before
        _ = consume machine
        let (number, part) = (limits.maximumMemory, Double(used) / Double(limits.maximumMemory))
        #expect(part <= 1 && part >= share, "\(used) bytes are \(part) of \(number)")
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
            for _ in 0..<200 {
                try server.receive(Wire.frame(.data, on: 1 + 2 * index, piece), now: .seconds(1))
                var span = memory.mutableSpan
                var target = span.mutableBytes
                _ = try server.read(StreamID(1 + 2 * index), into: &target, now: .seconds(1))
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
                try receive(":status", "103", part, limits.head.listSize / count, stream, &client)
            }
            try receive(":status", "200", fieldCount, limits.head.listSize, stream, &client)
            try receive("x-end", "1", fieldCount, limits.head.listSize, stream, ends: true, &client)
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
}
