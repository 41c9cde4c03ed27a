internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 2d: open connections without a pending read.
let idle = Row(async: "idle") { arguments in
    let count = arguments.number("connections")
    var pairs: [StreamPair] = []
    pairs.reserveCapacity(count + 1)
    try await add(&pairs, arguments)  // the setup of the first connection is not counted
    let before = measure_private_bytes()
    measure_begin()
    for _ in 0..<count { try await add(&pairs, arguments) }
    measure_note("memory", Double(measure_private_bytes() - before))
    measure_end(Double(count), 0)
    withExtendedLifetime(pairs) {}
}

private func add(_ pairs: inout [StreamPair], _ arguments: Arguments) async throws {
    let pair = try connect(arguments)
    try await pair.input.opened()
    pairs.append(pair)
}
