internal import BenchmarkRows
internal import CMeasure
internal import HTTPMessage

/// 5a: parses a request head to the positions of its parts, without copying.
let indexRequest = Row("index-request") { arguments in
    try indexOften(.request, arguments)
}

/// Parses the head in the file repeatedly, to the parser's own slots.
func indexOften(_ kind: HeadParser.Kind, _ arguments: Arguments) throws {
    let message = arguments.bytes("file")
    let count = arguments.number("count")
    var parser = HeadParser(kind)
    measure_begin()
    for _ in 0..<count {
        parser.reset()
        guard case .complete(message.count) = try parser.parse(message.span.bytes) else {
            stop("the head is not complete")
        }
    }
    measure_end(Double(count), Double(count * message.count))
}
