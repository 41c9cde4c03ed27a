internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 3b and 3c: repeatedly connects, completes the handshake, gets 1 KiB and closes, on the calling thread.
let tlsHandshakes = Row("tls-handshakes") { arguments in
    let count = arguments.number("count")
    var server = TLSWebServer(arguments)
    let resumes = arguments.number("resume") == 1
    server.configuration.resumesSessions = resumes
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var bytes = 0
    var resumed = 0
    measure_begin()
    for _ in 0..<count {
        let pair = try server.open()
        try pair.output.writeAll(server.request)
        while case let count = try pair.input.read(into: &buffer), count > 0 { bytes += count }
        if pair[.tlsInformation]?.isResumed == true { resumed += 1 }
        pair.close()
    }
    measure_note("resumed", Double(resumed))
    measure_end(Double(count), Double(bytes))
    guard resumed == (resumes ? count - 1 : 0) else { stop("\(resumed) of \(count) sessions were resumed") }
}
