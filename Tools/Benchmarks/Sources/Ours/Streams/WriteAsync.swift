internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import StreamKit

/// 1c: writes in a task on the event loop, ends the sending direction, and waits for the sink's byte.
let writeAsync = Row(async: "write-async") { arguments in
    let bytes = arguments.number("bytes")
    let size = arguments.number("buffer")
    measure_begin()
    try await withNetworkExecutor {
        let buffer = [UInt8](repeating: 1, count: size)
        var answer: [UInt8] = [0]
        let pair = try connect(arguments)
        for _ in 0..<bytes / size { try await pair.output.writeAll(buffer) }
        try await pair.output.finish()
        guard try await pair.input.read(into: &answer) == 1 else { stop("the sink did not answer") }
        pair.close()
    }
    measure_end(Double(bytes / size), Double(bytes))
}
