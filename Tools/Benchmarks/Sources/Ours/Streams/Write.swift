internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 1c: writes on the calling thread, ends the sending direction, and waits for the sink's byte.
let write = Row("write") { arguments in
    let buffer = [UInt8](repeating: 1, count: arguments.number("buffer"))
    let bytes = arguments.number("bytes")
    var answer: [UInt8] = [0]
    measure_begin()
    let pair = try connect(arguments)
    for _ in 0..<bytes / buffer.count { try pair.output.writeAll(buffer) }
    try pair.output.finish()
    guard try pair.input.read(into: &answer) == 1 else { stop("the sink did not answer") }
    pair.close()
    measure_end(Double(bytes / buffer.count), Double(bytes))
}
