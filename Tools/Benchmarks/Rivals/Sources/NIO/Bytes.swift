internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOPosix

let byteRows = [
    Row(async: "read") { arguments in
        let ended = group.any().makePromise(of: ByteCounter.Total.self)
        measure_begin()
        _ = try await client().connect(port: arguments.number("port")) { ByteCounter(ended: ended) }
        let total = try await ended.futureResult.get()
        measure_end(Double(total.reads), Double(total.bytes))
    },
    Row(async: "read-async") { arguments in
        measure_begin()
        let channel = try await asyncChannel(port: arguments.number("port"))
        try await channel.executeThenClose { inbound, _ in
            var reads = 0
            var bytes = 0
            for try await buffer in inbound {
                reads += 1
                bytes += buffer.readableBytes
            }
            measure_end(Double(reads), Double(bytes))
        }
    },
    Row(async: "write") { arguments in
        let bytes = arguments.number("bytes")
        let acknowledged = group.any().makePromise(of: Void.self)
        measure_begin()
        _ = try await client()
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: .init(low: 262_144, high: 1_048_576))
            .connect(port: arguments.number("port")) { Uploader(bytes: bytes, acknowledged: acknowledged) }
        try await acknowledged.futureResult.get()
        measure_end(1, Double(bytes))
    },
]

/// Counts what arrives until the peer closes.
final class ByteCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    struct Total {
        var reads = 0
        var bytes = 0
    }

    private var total = Total()
    private let ended: EventLoopPromise<Total>

    init(ended: EventLoopPromise<Total>) {
        self.ended = ended
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        total.reads += 1
        total.bytes += unwrapInboundIn(data).readableBytes
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended.succeed(total)
    }
}

/// Writes 64 KiB buffers while the channel is writable, then half-closes and waits for the sink's one byte.
private final class Uploader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var left: Int
    private let buffer = ByteBuffer(repeating: 1, count: 65_536)
    private let acknowledged: EventLoopPromise<Void>

    init(bytes: Int, acknowledged: EventLoopPromise<Void>) {
        self.left = bytes
        self.acknowledged = acknowledged
    }

    func channelActive(context: ChannelHandlerContext) {
        pump(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        acknowledged.succeed()
    }

    private func pump(_ context: ChannelHandlerContext) {
        guard left > 0 else { return }
        while left > 0, context.channel.isWritable {
            let count = min(left, buffer.readableBytes)
            left -= count
            context.writeAndFlush(wrapOutboundOut(buffer.getSlice(at: 0, length: count)!), promise: nil)
        }
        if left == 0 { context.close(mode: .output, promise: nil) }
    }
}
