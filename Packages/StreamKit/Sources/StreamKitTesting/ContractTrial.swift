internal import EventLoops
internal import StreamKit

/// One check of a rule: the rule, the style, the pipe, and helpers for the rules.
struct ContractTrial: Sendable {
    let rule: ByteStreamRule
    let style: StreamStyle
    let pipe: BytePipe
    let bound: Int?

    var input: ReadStream { pipe.input }
    var output: WriteStream { pipe.output }

    /// Bytes that repeat only after 251, which exposes lost or repeated ones.
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
        case .success(let value): try expect(false, "\(what) gave \(value)")
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
        while !condition() { await Task.yield() }
    }

    /// Writes until the flow accepts no more bytes and reports that. Returns the bytes written.
    func fill() throws -> [UInt8] {
        let piece = ContractTrial.pattern(251 * 256)
        var all: [UInt8] = []
        var size = piece.count
        var refusals = 0
        while true {
            let next = Array(piece[(all.count % 251)...].prefix(size))
            if let count = try output.tryWrite(next) {
                try expect(count > 0, "a write gave 0 on a flow without an end")
                all.append(contentsOf: next[..<count])
                refusals = 0
                size = piece.count
                try expect(all.count <= bound ?? .max, "\(all.count) bytes were accepted without a reader")
            } else if !output.canAcceptBytes {
                refusals += 1
                // Every second refusal may be artificial, and a pipe may have room for fewer bytes than were offered.
                if refusals == 4 { return all }
                if refusals == 2 { size = 1 }
            }
        }
    }

    /// More bytes than a kernel may still accept into a full flow.
    var surplus: [UInt8] { ContractTrial.pattern(1 << 20) }

    /// Runs a call concurrently with the caller.
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
