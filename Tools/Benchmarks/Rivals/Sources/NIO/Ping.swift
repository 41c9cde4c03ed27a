internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOPosix

let pingRows = [
    Row(async: "ping") { arguments in
        let connections = arguments.number("connections")
        let each = arguments.number("count") / connections
        var pingers: [(channel: any Channel, finished: EventLoopFuture<Void>)] = []
        for _ in 0..<connections {
            let finished = group.any().makePromise(of: Void.self)
            let channel = try await client().connect(port: arguments.number("port")) {
                Pinger(rounds: each, finished: finished)
            }
            pingers.append((channel, finished.futureResult))
        }
        measure_begin()
        for pinger in pingers { pinger.channel.writeAndFlush(ByteBuffer(bytes: [1]), promise: nil) }
        for pinger in pingers { try await pinger.finished.get() }
        measure_end(Double(each * connections), 0)
    },
    Row(async: "ping-async") { arguments in
        let connections = arguments.number("connections")
        let each = arguments.number("count") / connections
        var channels: [ByteChannel] = []
        for _ in 0..<connections {
            channels.append(try await asyncChannel(port: arguments.number("port")))
        }
        measure_begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for channel in channels {
                group.addTask { try await ping(channel, rounds: each) }
            }
            try await group.waitForAll()
        }
        measure_end(Double(each * connections), 0)
    },
]

private func ping(_ channel: ByteChannel, rounds: Int) async throws {
    let byte = ByteBuffer(bytes: [1])
    try await channel.executeThenClose { inbound, outbound in
        var answers = inbound.makeAsyncIterator()
        for _ in 0..<rounds {
            try await outbound.write(byte)
            guard try await answers.next() != nil else { stop("the echo server closed") }
        }
    }
}

/// Sends one byte back for each received byte, a given number of times.
private final class Pinger: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var left: Int
    private let byte = ByteBuffer(bytes: [1])
    private let finished: EventLoopPromise<Void>

    init(rounds: Int, finished: EventLoopPromise<Void>) {
        self.left = rounds
        self.finished = finished
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        left -= 1
        if left == 0 {
            finished.succeed()
        } else {
            context.writeAndFlush(wrapOutboundOut(byte), promise: nil)
        }
    }
}
