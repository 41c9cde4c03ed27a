internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOPosix

let idleRows = [
    Row(async: "idle") { arguments in
        let count = arguments.number("connections")
        let port = arguments.number("port")
        var channels: [any Channel] = [try await client().connect(port: port) { Silent() }]
        channels.reserveCapacity(count + 1)
        let before = measure_private_bytes()
        measure_begin()
        for _ in 0..<count { channels.append(try await client().connect(port: port) { Silent() }) }
        try await quiesce()
        measure_note("memory", Double(measure_private_bytes() - before))
        measure_end(Double(count), 0)
    },
    Row(async: "idle-async") { arguments in
        let count = arguments.number("connections")
        let port = arguments.number("port")
        var tasks: [Task<Void, any Error>] = [try await reader(port: port)]
        tasks.reserveCapacity(count + 1)
        try await quiesce()
        let before = measure_private_bytes()
        measure_begin()
        for _ in 0..<count { tasks.append(try await reader(port: port)) }
        try await quiesce()
        measure_note("memory", Double(measure_private_bytes() - before))
        measure_end(Double(count), 0)
    },
]

/// A connection with a task suspended in a read from it.
private func reader(port: Int) async throws -> Task<Void, any Error> {
    let channel = try await asyncChannel(port: port)
    return Task {
        try await channel.executeThenClose { inbound, _ in
            for try await _ in inbound {}
        }
    }
}

/// Long enough for every task to be suspended.
private func quiesce() async throws {
    try await Task.sleep(for: .milliseconds(300))
}

private final class Silent: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
