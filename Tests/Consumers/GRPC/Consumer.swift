import EventLoops
import FoundationEssentials
import GRPCCore

/// Calls of all four kinds over NetKit's client of HTTP/2, to each server in the arguments, such as `grpcio=http://127.0.0.1:4242`.
/// With the argument `serve`, the program is such a server itself.
@main struct Consumer {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "serve" { return try await Letters.serve() }
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let url = URL(string: String(parts[1])) else {
                fatalError("not NAME=URL: \(argument)")
            }
            print(parts[0])
            try await run(url)
        }
    }

    static func run(_ url: URL) async throws {
        let transport = NetKitTransport(url)
        try await withGRPCClient(transport: transport) { client in
            let calls = Calls(client: client)
            print("  unary: \(try await calls.unary())")
            print("  client streaming: \(try await calls.clientStreaming())")
            print("  server streaming: \(try await calls.serverStreaming())")
            print("  bidirectional: \(try await calls.bidirectional())")
            print("  at once: \(try await calls.manyAtOnce()), connections: \(transport.pool.idleCount)")
            print("  error after a message: \(try await calls.error(of: "Stop"))")
            print("  error at once: \(try await calls.error(of: "Refuse"))")
            print("  unknown method: \(try await calls.error(of: "Nothing"))")
            print("  message too long: \(try await calls.tooLong())")
            print("  deadline: \(try await calls.deadline())")
            print("  cancellation: \(try await calls.cancellation())")
            print("  server that dies: \(try await calls.error(of: "Exit")), then \(try await calls.error(of: "Echo"))")
        }
        print("  at the end: \(transport.pool.idleCount) connections")
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

struct Calls {
    let client: GRPCClient<NetKitTransport>

    // MARK: The four kinds

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

    /// Sends 1,000 messages of 10 KB, which the server counts.
    func clientStreaming() async throws -> String {
        let request = StreamingClientRequest<[UInt8]> { writer in
            for number in 0..<1000 { try await writer.write([UInt8](repeating: UInt8(number % 256), count: 10_000)) }
        }
        return try await client.clientStreaming(
            request: request, descriptor: .letters("Count"), serializer: Raw(), deserializer: Raw(), options: .defaults
        ) { String(decoding: try $0.message, as: UTF8.self) }
    }

    /// Receives 500 messages of growing length.
    func serverStreaming() async throws -> String {
        try await grow(to: 500)
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
                        descriptor: .letters("Echo"), serializer: Raw(), deserializer: Raw(), options: .defaults
                    ) { try $0.message.count == number ? 1 : 0 }
                }
            }
            return "\(try await group.reduce(0, +)) calls"
        }
    }

    // MARK: Ends

    /// The error of a call: code, message and metadata of a status, the code alone of a failure.
    func error(of method: String) async throws -> String {
        try await failure {
            try await call(method) {
                try await $0.write([1])
            } _: { response in
                for try await _ in response.messages {}
                return "none"
            }
        }
    }

    /// Reads messages up to a length.
    func tooLong() async throws -> String {
        var options = CallOptions.defaults
        options.maxResponseMessageBytes = 99
        return try await failure { [options] in try await grow(to: 2, options) }
    }

    /// The server answers but does not end the call, and tells in a later one that it has noticed the end.
    func deadline() async throws -> String {
        var options = CallOptions.defaults
        var timeout = Duration.milliseconds(200)
        while true {
            options.timeout = timeout
            let answered = OneShot<Void>()
            let error = try await failure { [options] in
                try await call("Hold", options) {
                    try await $0.write([1])
                } _: { response in
                    for try await _ in response.messages { answered.provide(()) }
                    return "none"
                }
            }
            if answered.value != nil { return "\(error), the server: \(try await noticed())" }
            // On a slow machine, the time was over before the server had the call.
            timeout *= 4
        }
    }

    /// Cancels a call, whose request goes on, after its first answer.
    func cancellation() async throws -> String {
        let (answers, answered) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await failure {
                try await call("Hold") { writer in
                    try await writer.write([1])
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                } _: { response in
                    for try await _ in response.messages { answered.yield() }
                    return "none"
                }
            }
        }
        for await _ in answers { break }
        running.cancel()
        return "\(try await running.value), the server: \(try await noticed())"
    }

    // MARK: Helpers

    private func call<Result: Sendable>(
        _ method: String, _ options: CallOptions = .defaults,
        sending produce: @escaping @Sendable (RPCWriter<[UInt8]>) async throws -> Void,
        _ receive: @escaping @Sendable (StreamingClientResponse<[UInt8]>) async throws -> Result
    ) async throws -> Result {
        try await client.bidirectionalStreaming(
            request: StreamingClientRequest(producer: produce), descriptor: .letters(method),
            serializer: Raw(), deserializer: Raw(), options: options, onResponse: receive)
    }

    /// Receives messages of 0, 100, 200 … bytes.
    private func grow(to count: Int, _ options: CallOptions = .defaults) async throws -> String {
        try await client.serverStreaming(
            request: ClientRequest(message: Array("\(count)".utf8)), descriptor: .letters("Grow"), serializer: Raw(),
            deserializer: Raw(), options: options
        ) { response in
            var (count, bytes) = (0, 0)
            for try await message in response.messages {
                if message.count != count * 100 { throw RPCError(code: .dataLoss, message: "message \(count)") }
                (count, bytes) = (count + 1, bytes + message.count)
            }
            return "\(count) messages, \(bytes) bytes"
        }
    }

    private func noticed() async throws -> String {
        try await call("Noticed") { _ in
        } _: { response in
            for try await message in response.messages { return String(decoding: message, as: UTF8.self) }
            return "nothing"
        }
    }

    private func failure(of body: () async throws -> String) async throws -> String {
        do {
            return try await body()
        } catch let error as RPCError {
            let why = Array(error.metadata[stringValues: "x-why"])
            return why.isEmpty ? "\(error.code)" : "\(error.code) \"\(error.message)\" \(why)"
        }
    }
}
