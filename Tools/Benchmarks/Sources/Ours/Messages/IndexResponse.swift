internal import BenchmarkRows
internal import HTTPMessage

/// 5c: parses a response head to the positions of its parts, without copying.
let indexResponse = Row("index-response") { arguments in
    try indexOften(.response, arguments)
}
