internal import BenchmarkRows
internal import CMeasure
internal import HTTPMessage

/// 5b: parses a request head to a value that owns its bytes.
let parseRequest = Row("parse-request") { arguments in
    let message = arguments.bytes("file")
    let count = arguments.number("count")
    var parser = HeadParser(.request)
    var fields = 0
    measure_begin()
    for _ in 0..<count {
        parser.reset()
        guard case .complete = try parser.parse(message.span.bytes) else { stop("the head is not complete") }
        fields += try parser.makeRequest(from: message.span.bytes).fields.count
    }
    measure_note("fields", Double(fields))
    measure_end(Double(count), Double(count * message.count))
}
