internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 1a: reads to the end on the calling thread.
let read = Row("read") { arguments in
    var buffer = [UInt8](repeating: 0, count: arguments.number("buffer"))
    var reads = 0
    var bytes = 0
    measure_begin()
    let pair = try connect(arguments)
    while case let count = try pair.input.read(into: &buffer), count > 0 {
        reads += 1
        bytes += count
    }
    pair.close()
    measure_end(Double(reads), Double(bytes))
}
