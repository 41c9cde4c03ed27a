internal import BenchmarkRows
internal import CMeasure
internal import FTPStream

/// 6c: many small files, one after the other on one control connection.
let ftpFiles = Row(async: "ftp-files") { arguments in
    let client = try FTPClient(ftpURL(arguments))
    let count = arguments.number("count")
    try await withNetworkExecutor {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var bytes = 0
        measure_begin()
        for number in 0..<count {
            let stream = client.reader(FTPPath("small/\(number)"))
            try stream.open()
            while case let received = try await stream.read(into: &buffer), received > 0 { bytes += received }
            stream.close()
        }
        measure_end(Double(count), Double(bytes))
    }
}
