import FoundationEssentials
import HTTPStream

/// A reverse proxy that marks each response: it forwards the messages of a client to a server, and the responses back.
@main struct Consumer {
    static func main() async throws {
        guard let url = URL(string: CommandLine.arguments[1]), let port = url.port else { return }
        let listener = try StreamListener(port: 0, isLocal: true)
        async let _: Void = listener.run { client in  // cancelled at the end
            let server = StreamPair(host: url.host() ?? "", port: UInt16(port))
            try? server.open()
            let (asked, sent) = (PendingRequests(), PendingRequests())
            async let _: Void = relay(.request, (client, asked), (server, sent))  // cancelled with the connection
            try? await relay(.response, (server, sent), (client, asked))
            server.close()
        }
        guard let address = URL(string: "http://127.0.0.1:\(listener.port ?? 0)\(url.path())") else { return }
        let session = HTTPSession()
        let head = try await session.load(HTTPRequest(method: .head, url: address))
        let page = try await session.load(HTTPRequest(method: .post, url: address))  // on the same connection
        print("\(head.status), \(page.status): \(page.body.count) bytes by \(page.fields["Via"] ?? "no proxy")")
    }

    typealias End = (streams: StreamPair, pending: PendingRequests)
    static func relay(_ kind: MessageParser.Kind, _ from: End, _ to: End) async throws {
        var (parser, writer) = (MessageParser(kind, pending: from.pending), MessageWriter(pending: to.pending))
        for try await bytes in from.streams.input.chunks() {
            try parser.append(bytes)
            var sent: [UInt8] = []
            while var event = try parser.next() {
                if case .response(var head) = event {
                    try head.fields.append("1.1 example", for: "Via")
                    event = .response(head)
                }
                try writer.write(event, into: &sent)
            }
            try await to.streams.output.writeAll(sent)
        }
    }
}
