internal import BenchmarkRows
internal import CMeasure
internal import HTTPMessage

/// 5d: serializes the head of a request that was built field by field.
let serialize = Row("serialize") { arguments in
    let count = arguments.number("count")
    var request = try HTTPRequest(method: .get, target: "/images/2010/03/a-typical-path.jpg")
    for index in 0..<10 {
        guard let name = HTTPFieldName("X-Header-Name-\(index)") else { stop("not a field name") }
        try request.fields.append("some typical header value number \(index)", for: name)
    }
    var output: [UInt8] = []
    var bytes = 0
    output.reserveCapacity(4096)
    measure_begin()
    for _ in 0..<count {
        output.removeAll(keepingCapacity: true)
        request.serializeHead(into: &output)
        bytes += output.count
    }
    measure_end(Double(count), Double(bytes))
}
