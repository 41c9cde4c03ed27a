internal import AsyncHTTPClient
internal import BenchmarkRows
internal import CMeasure
internal import NIOCore

let downloadRow = Row(async: "read-async") { try await measureDownload($0, version: .http1Only) }

/// Over HTTP/2 if the server chooses it.
let downloadHTTP2Row = Row(async: "read-async-http2") { try await measureDownload($0, version: .automatic) }

private func measureDownload(
    _ arguments: Arguments, version: HTTPClient.Configuration.HTTPVersion
) async throws {
    try await withClient(arguments, version: version) { client in
        var parts = 0
        var bytes = 0
        measure_begin()
        let response = try await client.execute(HTTPClientRequest(url: arguments.text("url")), timeout: .minutes(1))
        for try await part in response.body {
            parts += 1
            bytes += part.readableBytes
        }
        measure_end(Double(parts), Double(bytes))
    }
}

let delegateDownloadRow = Row(async: "read-delegate") { arguments in
    try await withClient(arguments) { client in
        let request = try HTTPClient.Request(url: arguments.text("url"))
        measure_begin()
        let total = try await client.execute(request: request, delegate: BodyCounter()).get()
        measure_end(Double(total.parts), Double(total.bytes))
    }
}

private final class BodyCounter: HTTPClientResponseDelegate, @unchecked Sendable {  // called on its event loop only
    struct Response {
        var parts = 0
        var bytes = 0
    }

    private var total = Response()

    func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        total.parts += 1
        total.bytes += buffer.readableBytes
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
        total
    }
}
