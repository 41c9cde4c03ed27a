internal import BenchmarkRows
internal import CMeasure
internal import FTPStream

/// 6a: a download, blocking.
let ftpRead = Row("ftp-read") { arguments in
    let stream = try ReadStream(ftpURL: ftpURL(arguments))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var bytes = 0
    measure_begin()
    try stream.open()
    while case let count = try stream.read(into: &buffer), count > 0 { bytes += count }
    measure_end(1, Double(bytes))
}
