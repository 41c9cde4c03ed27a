internal import BenchmarkRows
internal import CMeasure
internal import FTPStream

/// 6b: an upload, blocking, up to the server's confirmation.
let ftpWrite = Row("ftp-write") { arguments in
    let stream = try WriteStream(ftpURL: ftpURL(arguments))
    let buffer = [UInt8](repeating: 0x61, count: 65_536)
    var rest = arguments.number("bytes")
    let total = rest
    measure_begin()
    try stream.open()
    while rest > 0 {
        let count = min(rest, buffer.count)
        try stream.writeAll(buffer.span.bytes.extracting(..<count))
        rest -= count
    }
    try stream.finish()
    measure_end(1, Double(total))
}
