internal import BenchmarkRows
internal import CMeasure
internal import FTPStream

/// 6d: a long listing, to entries.
let ftpList = Row(async: "ftp-list") { arguments in
    let client = try FTPClient(ftpURL(arguments))
    let expected = arguments.number("count")
    try await withNetworkExecutor {
        measure_begin()
        let entries = try await client.list(FTPPath("many-\(expected)"))
        guard entries.count == expected else { stop("\(entries.count) entries") }
        measure_end(Double(expected), 0)
    }
}
