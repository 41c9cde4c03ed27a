import FoundationEssentials
import HTTPStream

/// A reverse proxy that marks each request: it forwards the messages of a client to a server, and the responses back.
@main struct Consumer {
    static func main() async throws {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap({ URL(string: $0) }), let host = url.host(),
            let port = url.port.flatMap({ UInt16(exactly: $0) })
        else { fatalError("which URL?") }
        let listener = try StreamListener(port: 0, isLocal: true)
        let running = Task {
            try await listener.run { client in
                let server = StreamPair(host: host, port: port)
                try? server.open()
                async let up: Void = relay(.request, client.input, server.output)
                try? await relay(.response, server.input, client.output)
                server.close()
                client.close()
                try? await up
            }
        }
        guard let address = URL(string: "http://127.0.0.1:\(listener.port ?? 0)\(url.path())") else { return }
        let response = try await HTTPSession().get(address)
        print("\(response.statusLine): \(response.body?.count ?? 0) bytes by \(response.fields["Via"] ?? "no proxy")")
        listener.stop(within: .zero)
        try await running.value
    }

    static func relay(_ kind: MessageParser.Kind, _ input: ReadStream, _ output: WriteStream) async throws {
        var (parser, writer) = (MessageParser(kind, leniency: .client), MessageWriter(leniency: .client))
        while case let bytes = try await input.read(upTo: 65536), !bytes.isEmpty {
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
