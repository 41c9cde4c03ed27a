import Foundation
import NetKitFoundation
import Peers

/// Streams over sockets and TLS.
enum Streams {
    /// A listener and its client, with new certificates; written with await, read with blocking calls.
    static func echo() async throws -> String {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        var configuration = StreamListener.Configuration()
        configuration.tls = TLSConfiguration(
            server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        let serving = Task {
            try await listener.run { client in
                guard let received = try? await client.input.readAll(limit: 100) else { return }
                try? await client.output.writeAll(received)
                try? await client.output.finish()
            }
        }
        let pair = StreamPair(host: "localhost", port: listener.port ?? 0)
        var tls = TLSConfiguration()
        tls.trust = .only(file: authority.root)
        try pair.set(.tls, to: tls)
        try pair.open()
        try await pair.output.writeAll(Array("hello".utf8))
        try await pair.output.finish()
        let received = try readBlocking(pair.input)
        let version = pair[.tlsInformation].map { "\($0.version)" } ?? "no TLS"
        pair.close()
        listener.stop()
        try await serving.value
        return
            "a StreamListener echoed '\(received)' over verified \(version), open in \(Waiting.milliseconds(pair.report.time))"
    }

    /// Two addresses, one of them dead.
    static func race() async throws -> String {
        let listener = try StreamListener(port: 0, isLocal: true)
        let serving = Task { try await listener.run { $0.close() } }
        let here = IPAddress("127.0.0.1")!
        let pair = StreamPair(addresses: [.ip(here, port: 1), .ip(here, port: listener.port ?? 0)], name: "both")
        try pair.open()
        try await pair.input.opened()
        let steps = pair.report.steps.map(\.outcome.description).joined(separator: "; then: ")
        pair.close()
        listener.stop(within: .zero)
        try await serving.value
        return "two addresses: \(steps)"
    }

    /// Foundation's streams, as code for Apple's platforms uses them.
    static func readAsFoundationDoes() async throws -> String {
        try await Web.serving { port in
            var input: InputStream?
            var output: OutputStream?
            Stream.getStreamsToHost(withName: "localhost", port: Int(port), inputStream: &input, outputStream: &output)
            guard let input, let output else { throw Surprise("there are no streams") }
            input.open()
            output.open()
            let request = Array("GET / HTTP/1.0\r\n\r\n".utf8)
            guard output.write(request, maxLength: request.count) == request.count else {
                throw output.streamError ?? Surprise("nothing was written")
            }
            var buffer = [UInt8](repeating: 0, count: 1000)
            let count = max(0, input.read(&buffer, maxLength: buffer.count))
            input.close()
            output.close()
            let line = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\r\n").first ?? ""
            return "InputStream and OutputStream from getStreamsToHost read '\(line)'"
        }
    }

    private static func readBlocking(_ stream: ReadStream) throws -> String {
        String(decoding: try stream.readAll(limit: 100), as: UTF8.self)
    }
}
