internal import BenchmarkRows
internal import CMeasure
internal import StreamKit

/// 3b and 3c: connects, shakes hands, gets 1 KiB and closes, again and again, on the calling thread.
let tlsHandshakes = Row("tls-handshakes") { arguments in
    let count = arguments.number("count")
    var configuration = TLSConnection.configuration(arguments)
    let resumes = arguments.number("resume") == 1
    configuration.resumesSessions = resumes
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var bytes = 0
    var resumed = 0
    measure_begin()
    for _ in 0..<count {
        let connection = try TLSConnection(arguments, configuration)
        try connection.pair.output.writeAll(connection.request)
        while case let count = try connection.pair.input.read(into: &buffer), count > 0 { bytes += count }
        if connection.pair[.tlsInformation]?.isResumed == true { resumed += 1 }
        connection.pair.close()
    }
    measure_note("resumed", Double(resumed))
    measure_end(Double(count), Double(bytes))
    guard resumed == (resumes ? count - 1 : 0) else { stop("\(resumed) of \(count) sessions were resumed") }
}
