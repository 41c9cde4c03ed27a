internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import StreamKit

/// 2d: connections with one task each, suspended in a read on the event loop.
let idleAsync = Row(async: "idle-async") { arguments in
    let count = arguments.number("connections")
    var tasks: [Task<Void, any Error>] = []
    tasks.reserveCapacity(count + 1)
    tasks.append(try await reader(arguments))
    await everythingQueued()
    let before = measure_private_bytes()
    measure_begin()
    for _ in 0..<count { tasks.append(try await reader(arguments)) }
    await everythingQueued()
    measure_note("memory", Double(measure_private_bytes() - before))
    measure_end(Double(count), 0)
}

func reader(_ arguments: Arguments) async throws -> Task<Void, any Error> {
    let pair = try connect(arguments)
    try await pair.input.opened()
    return Task(executorPreference: EventLoop.shared) {
        var byte: [UInt8] = [0]
        _ = try await pair.input.read(into: &byte)
    }
}

/// Returns when every earlier reader is suspended, because the event loop runs jobs in order.
func everythingQueued() async {
    await withCheckedContinuation { continuation in
        EventLoop.shared.execute { continuation.resume() }
    }
}
