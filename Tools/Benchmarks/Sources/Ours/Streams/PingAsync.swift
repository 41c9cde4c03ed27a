internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import StreamKit

/// 2b and 2c: sends bytes and waits for them to come back, one task per connection, all on the event loop.
let pingAsync = Row(async: "ping-async") { arguments in
    let connections = arguments.number("connections")
    let each = arguments.number("count") / connections
    var pairs: [StreamPair] = []
    for _ in 0..<connections {
        let pair = try connect(arguments)
        try await pair.input.opened()
        pairs.append(pair)
    }
    try await withNetworkExecutor { [pairs] in
        measure_begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pair in pairs {
                group.addTask { try await ping(pair, rounds: each) }
            }
            try await group.waitForAll()
        }
        measure_end(Double(each * connections), 0)
    }
}

private func ping(_ pair: StreamPair, rounds: Int) async throws {
    var byte: [UInt8] = [1]
    for _ in 0..<rounds {
        guard try await pair.output.write(byte) == 1, try await pair.input.read(into: &byte) == 1 else {
            stop("no echo")
        }
    }
}
