internal import BenchmarkRows
internal import NIOCore
internal import NIOPosix

/// One event loop, because the other compared engines use one thread as well.
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

typealias ByteChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

/// A client that reads 64 KiB at a time, like all other variants.
func client() -> ClientBootstrap {
    ClientBootstrap(group: group)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 65_536))
}

extension ClientBootstrap {
    /// Connects to this machine, with the handler created on the channel's event loop.
    func connect(port: Int, handler: @escaping @Sendable () -> some ChannelHandler) async throws -> any Channel {
        try await channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler()) }
        }
        .connect(host: "127.0.0.1", port: port).get()
    }
}

/// A connection to this machine for async/await.
func asyncChannel(port: Int) async throws -> ByteChannel {
    try await client().connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture { try ByteChannel(wrappingChannelSynchronously: channel) }
    }
}
