internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import StreamKit

/// 1b: reads to the end in a task on the event loop.
let readAsync = Row(async: "read-async") { arguments in
    measure_begin()
    let (reads, bytes) = try await withNetworkExecutor {
        var buffer = [UInt8](repeating: 0, count: arguments.number("buffer"))
        var reads = 0
        var bytes = 0
        let pair = try connect(arguments)
        while case let count = try await pair.input.read(into: &buffer), count > 0 {
            reads += 1
            bytes += count
        }
        pair.close()
        return (reads, bytes)
    }
    measure_end(Double(reads), Double(bytes))
}
