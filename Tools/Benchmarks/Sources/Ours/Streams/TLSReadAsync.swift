internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import StreamKit

/// 3a: reads a large response to the end in a task on the event loop.
let tlsReadAsync = Row(async: "tls-read-async") { arguments in
    let server = TLSWebServer(arguments)
    measure_begin()
    let (reads, bytes) = try await withNetworkExecutor {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var reads = 0
        var bytes = 0
        let pair = try server.open()
        try await pair.output.writeAll(server.request)
        while case let count = try await pair.input.read(into: &buffer), count > 0 {
            reads += 1
            bytes += count
        }
        return (reads, bytes)
    }
    measure_end(Double(reads), Double(bytes))
}
