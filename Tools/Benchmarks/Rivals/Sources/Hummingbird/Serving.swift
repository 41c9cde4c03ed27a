import BenchmarkRows
import CMeasure
import Hummingbird
import HummingbirdHTTP2
import Logging
import NIOPosix
import NIOSSL

/// 12j: serves 1 KiB over TLS and HTTP/2 to h2load.
let serveRow = Row(async: "secure-serving") { arguments in
    let router = Router()
    let body = ByteBuffer(repeating: 0, count: 1024)
    router.get("1024") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: body)) }
    let tls = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(arguments.text("certificate")).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: arguments.text("key"), format: .pem)))
    let (ports, running) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "Hummingbird")
    logger.logLevel = .error
    let application = Application(
        router: router,
        server: try .http2Upgrade(tlsChannelConfiguration: .init(tlsConfiguration: tls)),
        configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in running.yield(channel.localAddress?.port ?? 0) },
        eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)),
        logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { stop("no port") }
        measure_begin()
        let count = arguments.number("count")
        measure_load(Int32(port), CLongLong(count), arguments.text("load-cpu"))
        measure_end(Double(count), 0)
        group.cancelAll()
    }
}
