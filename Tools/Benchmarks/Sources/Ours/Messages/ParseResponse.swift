internal import BenchmarkRows
internal import CMeasure
internal import HTTPMessage

/// 5c: parses a response head to a value that owns its bytes.
let parseResponse = Row("parse-response") { arguments in
    let message = arguments.bytes("file")
    let count = arguments.number("count")
    var parser = HeadParser(.response)
    var fields = 0
    measure_begin()
    for _ in 0..<count {
        parser.reset()
        guard case .complete = try parser.parse(message.span.bytes) else { stop("the head is not complete") }
        fields += try parser.makeResponse(from: message.span.bytes).fields.count
    }
    measure_note("fields", Double(fields))
    measure_end(Double(count), Double(count * message.count))
}
