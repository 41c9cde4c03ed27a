internal import EventLoops
internal import StreamKit

/// One rule on trial: a pipe, a style, and what is needed to put both to work.
struct ContractTrial: Sendable {
    let rule: ByteStreamRule
    let style: StreamStyle
    let pipe: BytePipe
    let bound: Int?

    var input: ReadStream { pipe.input }
    var output: WriteStream { pipe.output }

    /// Bytes that repeat only after 251, so that a lost or doubled one shows.
    static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) }
    }

    /// Opens what is not open yet, and waits for it.
    func open() async throws(StreamError) {
        if output.status == .notOpen { try output.open() }
        if input.status == .notOpen { try input.open() }
        try await output.opened()
        try await input.opened()
    }

    /// Says what was seen if the condition does not hold.
    func expect(_ condition: Bool, _ observation: @autoclosure () -> String) throws(ContractViolation) {
        if !condition { throw ContractViolation(rule: rule, style: style, observation: observation()) }
    }

    /// Runs a call that must throw this error; nil for any.
    func expect<Value: Sendable>(
        _ expected: StreamError?, _ what: String, _ call: () async throws(StreamError) -> Value
    ) async throws(ContractViolation) {
        switch await outcome(call) {
        case .success(let value): try expect(false, "\(what) gave \(value)")
        case .failure(let error):
            try expect(expected == nil || error == expected, "\(what) threw \(error.debugDescription)")
        }
    }

    /// What a call gave or threw.
    func outcome<Value: Sendable>(
        _ call: () async throws(StreamError) -> Value
    ) async -> Result<Value, StreamError> {
        do throws(StreamError) {
            return .success(try await call())
        } catch {
            return .failure(error)
        }
    }

    /// Gives way until the condition holds.
    func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    /// Fills the flow until it takes nothing more and says so. Gives what was written.
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
                try expect(all.count <= bound ?? .max, "\(all.count) bytes were taken though nobody read")
            } else if !output.canAcceptBytes {
                refusals += 1
                // Every other refusal may be a mere pause; and a pipe may have room for less than was offered.
                if refusals == 4 { return all }
                if refusals == 2 { size = 1 }
            }
        }
    }

    /// More than the room that a kernel may still make in a full flow.
    var surplus: [UInt8] { ContractTrial.pattern(1 << 20) }

    /// Runs a reading call beside the caller.
    func reading<Value: Sendable>(
        _ call: @escaping @Sendable () async throws(StreamError) -> Value
    ) -> Task<Result<Value, StreamError>, Never> {
        Task { await outcome(call) }
    }

    /// Waits until a read waits. There is no event for that: a read that has not begun to wait yet is as good here.
    func untilReading() async { await until { input.status == .reading } }

    /// Waits until a write waits.
    func untilWriting() async { await until { output.status == .writing } }
}
