internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 3a: reads a large response to the end on the calling thread.
let tlsRead = Row("tls-read") { arguments in
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let server = TLSWebServer(arguments)
    var reads = 0
    var bytes = 0
    measure_begin()
    let pair = try server.open()
    try pair.output.writeAll(server.request)
    while case let count = try pair.input.read(into: &buffer), count > 0 {
        reads += 1
        bytes += count
    }
    measure_end(Double(reads), Double(bytes))
}
