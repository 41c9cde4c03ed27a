internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 2a: sends a byte and waits for it to come back, on the calling thread.
let ping = Row("ping") { arguments in
    let rounds = arguments.number("count")
    let pair = try connect(arguments)
    var byte: [UInt8] = [1]
    try pair.input.opened()
    measure_begin()
    for _ in 0..<rounds {
        guard try pair.output.write(byte) == 1, try pair.input.read(into: &byte) == 1 else { stop("no echo") }
    }
    measure_end(Double(rounds), 0)
}
