import FoundationEssentials
import GRPCCore
import GRPCNIOTransportHTTP2TransportServices
import Glibc
import HTTPStream
import NIOCore
import NIOPosix

/// The methods that the calls need, by grpc-swift-nio-transport.
struct Letters: RegistrableRPCService {
    /// Prints the URL first, and ends with its input.
    static func serve() async throws {
        let transport = HTTP2ServerTransport.Custom(listenerFactory: LoopbackListener())
        let server = GRPCServer(transport: transport, services: [Letters()])
        Task {
            guard let port = await transport.listeningAddress?.ipv4?.port else { exit(1) }
            print("http://127.0.0.1:\(port)")
            fflush(nil)
        }
        Task {
            let input = StreamPair(descriptor: STDIN_FILENO, ownership: .borrowed).input
            try input.open()
            _ = try await input.read(upTo: 1)
            exit(0)
        }
        try await server.serve()
    }

    private let notices = AsyncStream<Void>.makeStream()

    func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
        func method(
            _ name: String,
            _ body: @escaping @Sendable (RPCAsyncSequence<[UInt8], any Error>, RPCWriter<[UInt8]>) async throws -> Void
        ) {
            router.registerHandler(forMethod: .letters(name), deserializer: Raw(), serializer: Raw()) { request, _ in
                let fields = request.metadata
                return StreamingServerResponse(
                    metadata: Metadata(fields.filter { $0.key == "x-text" })
                ) { writer in
                    try await body(request.messages, writer)
                    return Metadata(fields.filter { $0.key == "x-bytes-bin" })
                }
            }
        }
        let error = RPCError(code: .outOfRange, message: "100 % ungültig", metadata: ["x-why": "because"])
        method("Echo") { messages, writer in
            for try await message in messages { try await writer.write(message) }
        }
        method("Count") { messages, writer in
            var (count, bytes) = (0, 0)
            for try await message in messages { (count, bytes) = (count + 1, bytes + message.count) }
            try await writer.write(Array("\(count) messages, \(bytes) bytes".utf8))
        }
        method("Grow") { messages, writer in
            for try await message in messages {
                for number in 0..<(Int(String(decoding: message, as: UTF8.self)) ?? 0) {
                    try await writer.write([UInt8](repeating: 1, count: number * 100))
                }
            }
        }
        method("Chat") { messages, writer in
            for try await message in messages { try await writer.write(message + Array("!".utf8)) }
        }
        method("Stop") { messages, writer in
            for try await message in messages {
                try await writer.write(message)
                throw error
            }
        }
        router.registerHandler(forMethod: .letters("Refuse"), deserializer: Raw(), serializer: Raw()) { _, _ in
            throw error
        }
        method("Hold") { [notices] messages, writer in
            try await withRPCCancellationHandler {
                for try await message in messages { try await writer.write(message) }
                // The task is not cancelled with the call; it ends with the program.
                for await _ in AsyncStream<Void>.makeStream().stream {}
            } onCancelRPC: {
                notices.continuation.yield()
            }
        }
        method("Noticed") { [notices] _, writer in
            for await _ in notices.stream { break }
            try await writer.write(Array("cancelled".utf8))
        }
        method("Exit") { _, _ in exit(0) }
    }
}

/// Accepts connections on loopback, without TLS. `HTTP2ServerTransport.Posix` does the same, but its module needs a whole TLS library, which takes
/// half of the time of the build.
private struct LoopbackListener: HTTP2ServerTransport.ListenerFactory {
    let eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

    func makeListeningChannel(
        listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
        connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
    ) async throws -> NIOAsyncChannel<HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel, Never> {
        try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelInitializer { listenerConfigurator.configure(channel: $0) }
            .bind(host: "127.0.0.1", port: 0) { connectionConfigurator.configure(channel: $0, tls: .none) }
    }
}
