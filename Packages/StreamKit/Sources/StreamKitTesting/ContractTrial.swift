internal import EventLoops
internal import StreamKit

/// One check of a rule in one style on one pipe. The extensions contain the rules.
struct ContractTrial: Sendable {
    let rule: ByteStreamRule
    let style: StreamStyle
    let pipe: BytePipe
    let bound: Int?

    var input: ReadStream { pipe.input }
    var output: WriteStream { pipe.output }

    /// Bytes with a period of 251, a prime, so that a lost or repeated block changes the sequence.
    static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) }
    }

    /// Opens the halves that are not open yet, and waits until both are open.
    func open() async throws(StreamError) {
        if output.status == .notOpen { try output.open() }
        if input.status == .notOpen { try input.open() }
        try await output.opened()
        try await input.opened()
    }

    /// Throws a violation with the observation unless the condition holds.
    func expect(_ condition: Bool, _ observation: @autoclosure () -> String) throws(ContractViolation) {
        if !condition { throw ContractViolation(rule: rule, style: style, observation: observation()) }
    }

    /// Checks that a call throws the given error; nil for any error.
    func expect<Value: Sendable>(
        _ expected: StreamError?, _ what: String, _ call: () async throws(StreamError) -> Value
    ) async throws(ContractViolation) {
        switch await outcome(call) {
        case .success(let value): try expect(false, "\(what) returned \(value)")
        case .failure(let error):
            try expect(expected == nil || error == expected, "\(what) threw \(error.debugDescription)")
        }
    }

    /// The result of a call, or the error it threw.
    func outcome<Value: Sendable>(
        _ call: () async throws(StreamError) -> Value
    ) async -> Result<Value, StreamError> {
        do throws(StreamError) {
            return .success(try await call())
        } catch {
            return .failure(error)
        }
    }

    /// Yields until the condition holds.
    func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Writes until the pipe is full and ``WriteStream/canAcceptBytes`` is false. Returns the bytes written.
    func fill() throws -> [UInt8] {
        let piece = ContractTrial.pattern(251 * 256)
        var all: [UInt8] = []
        var size = piece.count
        var refusals = 0
        while true {
            let next = Array(piece[(all.count % 251)...].prefix(size))
            if let count = try output.tryWrite(next) {
                try expect(count > 0, "a write returned 0 although the stream has not ended")
                all.append(contentsOf: next[..<count])
                refusals = 0
                size = piece.count
                try expect(all.count <= bound ?? .max, "\(all.count) bytes were accepted without a reader")
            } else if !output.canAcceptBytes {
                refusals += 1
                // A transport such as ``TestTransport/fragmenting(_:pieceSize:)`` refuses every second write, and a pipe may have room for
                // fewer bytes than were offered.
                if refusals == 4 { return all }
                if refusals == 2 { size = 1 }
            }
        }
    }

    /// More bytes than a kernel may still accept after the pipe has reported that it is full.
    var surplus: [UInt8] { ContractTrial.pattern(1 << 20) }

    /// Starts a call, a read or a write, that runs concurrently with the caller.
    func reading<Value: Sendable>(
        _ call: @escaping @Sendable () async throws(StreamError) -> Value
    ) -> Task<Result<Value, StreamError>, Never> {
        Task { await outcome(call) }
    }

    /// Waits until a read is in progress. Whether it has already begun to wait cannot be observed, and does not matter
    /// here.
    func untilReading() async { await until { input.status == .reading } }

    /// Waits until a write is in progress.
    func untilWriting() async { await until { output.status == .writing } }
}

/// Rules about bytes: order, short counts, the end, back-pressure.
extension ContractTrial {
    func everyByteArrivesInOrder() async throws {
        try await open()
        let bytes = ContractTrial.pattern(style == .polling ? 20_000 : 100_000)
        let writing = reading { [self] () async throws(StreamError) in
            try await style.writeAll(bytes, to: output, inPiecesOf: 7_919)
            try await pipe.end()
        }
        let all = try await style.readAll(input, inPiecesOf: 4_099)
        _ = try await writing.value.get()
        try expect(all == bytes, "read \(all.count) of \(bytes.count) bytes, or different ones")
    }

    func readsMayBeShort() async throws {
        try await open()
        let bytes = Array("abc".utf8)
        let writing = reading { [self] () async throws(StreamError) in try await style.writeAll(bytes, to: output) }
        var all: [UInt8] = []
        while all.count < 3 {
            let piece = try await style.read(input, upTo: 100)
            try expect(!piece.isEmpty, "a read returned the end before all bytes")
            all += piece
        }
        _ = try await writing.value.get()
        try expect(all == bytes, "read \(all)")
    }

    func zeroMeansTheEnd() async throws {
        try await open()
        let writing = reading { [self] () async throws(StreamError) in
            try await style.writeAll(Array("abcde".utf8), to: output)
            try await pipe.end()
        }
        let all = try await style.readAll(input, inPiecesOf: 2)
        _ = try await writing.value.get()
        try expect(all == Array("abcde".utf8), "read \(all)")
        try expect(input.status == .atEnd, "after the end the status is \(input.status)")
        try expect(input.error == nil, "after the end there is an error: \(input.error!)")
        for _ in 0..<2 {
            let more = try await style.read(input)
            try expect(more.isEmpty, "after the end a read returned \(more)")
        }
    }

    func emptyBufferYieldsZero() async throws {
        try await open()
        var nothing: [UInt8] = []
        let count = try await input.read(into: &nothing)
        let tried = try input.tryRead(into: &nothing)
        let written = try await output.write(nothing)
        try expect(count == 0 && tried == 0 && written == 0, "counts \(count), \(tried as Any), \(written)")
        try expect(input.status == .open, "the status became \(input.status)")
    }

    func slowReaderHoldsBack() async throws {
        if bound == nil { return }
        try await open()
        var all = try fill()
        let more = Array("more".utf8)
        let writing = reading { [self] () async throws(StreamError) in
            try await style.writeAll(more, to: output)
            try await pipe.end()
        }
        all += more
        let seen = try await style.readAll(input)
        _ = try await writing.value.get()
        try expect(seen == all, "read \(seen.count) of \(all.count) bytes, or different ones")
    }

    func triesNeverWait() async throws {
        if input.status == .notOpen { try expect(!input.hasBytesAvailable, "has bytes before open") }
        if output.status == .notOpen { try expect(!output.canAcceptBytes, "accepts bytes before open") }
        try await open()
        var buffer = [UInt8](repeating: 0, count: 8)
        try expect(!input.hasBytesAvailable, "an empty pipe has bytes")
        let early = try input.tryRead(into: &buffer)
        try expect(early == nil, "a read from an empty pipe returned \(early as Any)")
        if bound != nil {
            _ = try fill()
            _ = output.canAcceptBytes  // a kernel may have made room meanwhile
            _ = try output.tryWrite([1])
        }
        input.close()
        output.close()
        try expect(!input.hasBytesAvailable && !output.canAcceptBytes, "a closed stream is ready")
    }

    func breakIsAnErrorAfterTheBytes() async throws {
        guard let breakOff = pipe.breakOff else { return }
        try await open()
        try await style.writeAll(Array("abc".utf8), to: output)
        var all: [UInt8] = []
        while all.count < 3 { all += try await style.read(input, upTo: 1) }
        breakOff()
        guard case .failure(let first) = await outcome({ () async throws(StreamError) in try await style.read(input) })
        else { return try expect(false, "after the break a read succeeded") }
        try expect(input.status == .error, "after the break the status is \(input.status)")
        try expect(input.error == first, "the stream's error is \(input.error as Any), the read's \(first)")
        try await expect(first, "a second read") { () async throws(StreamError) in try await style.read(input) }
        input.close()
        try expect(input.status == .error, "closing a failed stream made its status \(input.status)")
    }

    func writingWithoutReaderThrows() async throws {
        try await open()
        pipe.leave()
        try await expect(nil, "writing without a reader") { () async throws(StreamError) in
            for _ in 0..<100_000 where try await style.write(ContractTrial.pattern(4096), to: output) == 0 { break }
        }
        try expect(output.status == .error, "after the failure the status is \(output.status)")
        try await expect(nil, "a write after the failure") { () async throws(StreamError) in
            try await style.write([1], to: output)
        }
    }
}
