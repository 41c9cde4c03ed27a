import Foundation
import HTTPMessage
import StreamKit

/// One connection to a server, for consecutive requests: all steps of a login use it.
struct HTTPConnection {
    private let streams: StreamPair
    private var parser = MessageParser(.response, leniency: .client)

    init(to url: URL, root: String?) async throws {
        var properties = StreamProperties()
        properties[.readTimeout] = .seconds(40)
        let isEncrypted = url.scheme == "https"
        if isEncrypted {
            var tls = TLSConfiguration()
            if let root { tls.trust = .only(file: root) }
            properties[.tls] = tls
        }
        streams = StreamPair(
            host: url.host ?? "", port: UInt16(url.port ?? (isEncrypted ? 443 : 80)), properties: properties)
        try streams.open()
    }

    /// Sends a request and returns the final response with its body.
    mutating func answer(to request: HTTPRequest) async throws -> (HTTPResponse, [UInt8]) {
        try await streams.output.writeAll(request.serialized())
        parser.expectResponse(to: request.method)
        var response: HTTPResponse?
        var body: [UInt8] = []
        while true {
            guard let event = try parser.next() else {
                let bytes = try await streams.input.read(upTo: 65536)
                guard !bytes.isEmpty else { throw HTTPMessageError(.truncated) }
                try parser.append(bytes)
                continue
            }
            switch event {
            case .response(var head):
                head.url = request.url
                response = head
            case .body(let bytes): body += bytes
            case .end:
                guard let response else { throw HTTPMessageError(.truncated) }
                return (response, body)
            case .informational, .request: break
            }
        }
    }
}
