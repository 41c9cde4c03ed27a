import FoundationEssentials
import HTTPStream

/// A reverse proxy that marks each response: it forwards the messages of a client to a server, and the responses back.
@main struct Consumer {
    static func main() async throws {
        guard let url = URL(string: CommandLine.arguments[1]), let port = url.port else { return }
        let listener = try StreamListener(port: 0, isLocal: true)
        let running = Task {
            try await listener.run { client in
                let server = StreamPair(host: url.host() ?? "", port: UInt16(port))
                try? server.open()
                async let _: Void = relay(.request, client.input, server.output)  // cancelled with the connection
                try? await relay(.response, server.input, client.output)
                server.close()
            }
        }
        guard let address = URL(string: "http://127.0.0.1:\(listener.port ?? 0)\(url.path())") else { return }
        let response = try await HTTPSession().get(address)
        print("\(response.statusLine): \(response.bytes.count) bytes by \(response.fields["Via"] ?? "no proxy")")
        listener.stop(within: .zero)
        try await running.value
    }

    static func relay(_ kind: MessageParser.Kind, _ input: ReadStream, _ output: WriteStream) async throws {
        var (parser, writer) = (MessageParser(kind, leniency: .client), MessageWriter(leniency: .client))
        for try await bytes in input.chunks() {
            try parser.append(bytes)
            var sent: [UInt8] = []
            while var event = try parser.next() {
                if case .response(var head) = event {
                    try head.fields.append("1.1 example", for: "Via")
                    event = .response(head)
                }
                try writer.write(event, into: &sent)
            }
            try await output.writeAll(sent)
        }
    }
}
