import FoundationEssentials
import GRPCCore
import GRPCNIOTransportHTTP2
import HTTPStream
import Synchronization

/// Calls of all four kinds over NetKit's client of HTTP/2, to the server of grpc-swift-nio-transport, or to the one at the URL in the first
/// argument, which has the same methods (`server.py`).
@main struct Consumer {
    static func main() async throws {
        if let text = CommandLine.arguments.dropFirst().first {
            guard let url = URL(string: text) else { fatalError("which URL?") }
            return try await run(url)
        }
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
        let server = GRPCServer(transport: transport, services: [Letters()])
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await server.serve() }
            guard let port = try await transport.listeningAddress.ipv4?.port,
                let url = URL(string: "http://127.0.0.1:\(port)")
            else { fatalError("no address") }
            try await run(url)
            server.beginGracefulShutdown()
        }
    }

    static func run(_ url: URL) async throws {
        var options = HTTPOptions()
        options.pool = HTTPConnectionPool()
        let transport = NetKitTransport(url, options: options)
        try await withGRPCClient(transport: transport) { client in
            let calls = Calls(client: client)
            print("unary: \(try await calls.unary())")
            print("client streaming: \(try await calls.clientStreaming())")
            print("server streaming: \(try await calls.serverStreaming())")
            print("bidirectional: \(try await calls.bidirectional())")
            print("at once: \(try await calls.manyAtOnce())")
            print("failure: \(try await calls.failure())")
            print("unimplemented: \(try await calls.unimplemented())")
            print("deadline: \(try await calls.deadline())")
            print("cancellation: \(try await calls.cancellation())")
            print("connections: \(options.pool.idleCount)")
        }
        print("closed: \(options.pool.idleCount)")
    }
}

/// Messages are bytes.
struct Raw: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
        bytes.withUnsafeBytes { Array($0) }
    }
}

extension MethodDescriptor {
    static func letters(_ name: String) -> MethodDescriptor {
        MethodDescriptor(fullyQualifiedService: "netkit.Letters", method: name)
    }
}

// MARK: - The calls

struct Calls {
    let client: GRPCClient<NetKitTransport>

    private func call<Result: Sendable>(
        _ method: String, _ metadata: Metadata = [:], timeout: Duration? = nil,
        sending produce: @escaping @Sendable (RPCWriter<[UInt8]>) async throws -> Void,
        _ receive: @escaping @Sendable (StreamingClientResponse<[UInt8]>) async throws -> Result
    ) async throws -> Result {
        var options = CallOptions.defaults
        options.timeout = timeout
        return try await client.bidirectionalStreaming(
            request: StreamingClientRequest(metadata: metadata, producer: produce), descriptor: .letters(method),
            serializer: Raw(), deserializer: Raw(), options: options, onResponse: receive)
    }

    /// Sends text and binary metadata, which come back in the head and in the trailers.
    func unary() async throws -> String {
        try await client.unary(
            request: ClientRequest(
                message: Array("hello".utf8), metadata: ["x-text": "a b", "x-bytes-bin": [0, 255]]),
            descriptor: .letters("Echo"), serializer: Raw(), deserializer: Raw(), options: .defaults
        ) { response in
            let text = String(decoding: try response.message, as: UTF8.self)
            let head = Array(response.metadata[stringValues: "x-text"])
            let tail = Array(response.trailingMetadata[binaryValues: "x-bytes-bin"])
            return "\(text) \(head) \(tail)"
        }
    }

    /// Sends 1,000 messages of 10 KB; the server counts them.
    func clientStreaming() async throws -> String {
        let request = StreamingClientRequest<[UInt8]> { writer in
            for number in 0..<1000 { try await writer.write([UInt8](repeating: UInt8(number % 256), count: 10_000)) }
        }
        return try await client.clientStreaming(
            request: request, descriptor: .letters("Count"), serializer: Raw(), deserializer: Raw(), options: .defaults
        ) { String(decoding: try $0.message, as: UTF8.self) }
    }

    /// Receives 500 messages of growing size.
    func serverStreaming() async throws -> String {
        try await client.serverStreaming(
            request: ClientRequest(message: Array("500".utf8)), descriptor: .letters("Grow"), serializer: Raw(),
            deserializer: Raw(), options: .defaults
        ) { response in
            var (count, bytes) = (0, 0)
            for try await message in response.messages {
                if message.count != count * 100 { throw RPCError(code: .dataLoss, message: "message \(count)") }
                (count, bytes) = (count + 1, bytes + message.count)
            }
            return "\(count) messages, \(bytes) bytes"
        }
    }

    /// Sends each message after the answer to the one before.
    func bidirectional() async throws -> String {
        let (answers, answered) = AsyncStream.makeStream(of: [UInt8].self)
        return try await call("Chat") { writer in
            var count = 0
            try await writer.write(Array("0".utf8))
            for await answer in answers {
                guard answer == Array("\(count)!".utf8) else { throw RPCError(code: .dataLoss, message: "\(answer)") }
                count += 1
                if count == 200 { break }
                try await writer.write(Array("\(count)".utf8))
            }
        } _: { response in
            var count = 0
            for try await message in response.messages {
                count += 1
                answered.yield(message)
            }
            answered.finish()
            return "\(count) turns"
        }
    }

    func manyAtOnce() async throws -> String {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<300 {
                group.addTask {
                    try await client.unary(
                        request: ClientRequest(message: [UInt8](repeating: 1, count: number)),
                        descriptor: .letters("Echo"),
                        serializer: Raw(), deserializer: Raw(), options: .defaults
                    ) { try $0.message.count == number ? 1 : 0 }
                }
            }
            return "\(try await group.reduce(0, +)) calls"
        }
    }

    func failure() async throws -> String {
        try await call("Fail") {
            try await $0.write([1])
        } _: { response in
            do {
                for try await _ in response.messages {}
                return "none"
            } catch let error as RPCError {
                return "\(error.code) \(error.message) \(Array(error.metadata[stringValues: "x-why"]))"
            }
        }
    }

    func unimplemented() async throws -> String {
        try await call("Nothing") {
            try await $0.write([1])
        } _: { response in
            guard case .failure(let error) = response.accepted else { return "accepted" }
            return "\(error.code)"
        }
    }

    /// The server never answers.
    func deadline() async throws -> String {
        do {
            return try await call("Wait", timeout: .milliseconds(200)) {
                try await $0.write([1])
            } _: { response in
                for try await _ in response.messages {}
                return "none"
            }
        } catch let error as RPCError {
            return "\(error.code)"
        }
    }

    /// Cancels a call after its first answer. The server tells in a later call that it has noticed.
    func cancellation() async throws -> String {
        let (answers, answered) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await call("Hold") { writer in
                try await writer.write([1])
                for await _ in AsyncStream<Void>.makeStream().stream {}
            } _: { response in
                for try await _ in response.messages { answered.yield() }
                return "ended"
            }
        }
        for await _ in answers { break }
        running.cancel()
        let outcome = await running.result
        guard case .failure(let error) = outcome, let error = error as? RPCError else { return "\(outcome)" }
        let noticed = try await call("Noticed") {
            try await $0.write([1])
        } _: { response in
            for try await message in response.messages { return String(decoding: message, as: UTF8.self) }
            return ""
        }
        return "\(error.code), the server: \(noticed)"
    }
}

// MARK: - The server

/// The methods that the calls need.
struct Letters: RegistrableRPCService {
    private let isCancelled = AsyncStream<Void>.makeStream()

    func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
        func method(
            _ name: String, trailers: Metadata = [:], echoesMetadata: Bool = false,
            _ body: @escaping @Sendable (RPCAsyncSequence<[UInt8], any Error>, RPCWriter<[UInt8]>) async throws -> Void
        ) {
            router.registerHandler(forMethod: .letters(name), deserializer: Raw(), serializer: Raw()) { request, _ in
                let metadata = request.metadata
                var head = Metadata()
                var tail = Metadata()
                for text in metadata[stringValues: "x-text"] { head.addString(text, forKey: "x-text") }
                for bytes in metadata[binaryValues: "x-bytes-bin"] { tail.addBinary(bytes, forKey: "x-bytes-bin") }
                return StreamingServerResponse(metadata: head) { [tail] writer in
                    try await body(request.messages, writer)
                    return tail
                }
            }
        }
        method("Echo") { messages, writer in for try await message in messages { try await writer.write(message) } }
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
        method("Fail") { _, _ in
            throw RPCError(code: .outOfRange, message: "100 % ungültig", metadata: ["x-why": "because"])
        }
        method("Wait") { messages, _ in
            for try await _ in messages {}
            for await _ in AsyncStream<Void>.makeStream().stream {}
        }
        method("Hold") { [isCancelled] messages, writer in
            try await withRPCCancellationHandler {
                for try await message in messages { try await writer.write(message) }
            } onCancelRPC: {
                isCancelled.continuation.yield()
            }
        }
        method("Noticed") { [isCancelled] _, writer in
            for await _ in isCancelled.stream { break }
            try await writer.write(Array("cancelled".utf8))
        }
    }
}
