internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// A GET over TLS with a plain channel handler: the cost of NIOSSL without an HTTP client.
let downloadRow = Row(async: "read") { arguments in
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .file(arguments.text("ca"))
    configuration.minimumTLSVersion = .tlsv13
    let context = try NIOSSLContext(configuration: configuration)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let ended = group.any().makePromise(of: ResponseCounter.Total.self)
    let path = arguments.text("path")
    measure_begin()
    _ = try await ClientBootstrap(group: group)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                    ResponseCounter(path: path, ended: ended)
                )
            }
        }
        .connect(host: "127.0.0.1", port: arguments.number("port")).get()
    let total = try await ended.futureResult.get()
    measure_end(Double(total.reads), Double(total.bytes))
}

/// Sends the request and counts the received bytes until the server closes.
private final class ResponseCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    struct Total {
        var reads = 0
        var bytes = 0
    }

    private var total = Total()
    private let path: String
    private let ended: EventLoopPromise<Total>

    init(path: String, ended: EventLoopPromise<Total>) {
        self.path = path
        self.ended = ended
    }

    func channelActive(context: ChannelHandlerContext) {
        let request = ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        total.reads += 1
        total.bytes += unwrapInboundIn(data).readableBytes
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended.succeed(total)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        stop("\(error)")
    }
}
