internal import BenchmarkRows
internal import HTTPMessage

/// 5c: finds a response head and where everything in it stands; keeps nothing of it.
let indexResponse = Row("index-response") { arguments in
    try indexOften(.response, arguments)
}
