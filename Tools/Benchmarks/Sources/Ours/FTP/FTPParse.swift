internal import BenchmarkRows
internal import CMeasure
internal import FTPStream

/// 6e: lines of a listing, to entries; no network.
let ftpParse = Row("ftp-parse") { arguments in
    let count = arguments.number("count")
    let line =
        arguments.text("format") == "facts"
        ? "type=file;size=%;modify=20261121170000;UNIX.mode=0644;unique=803U21; notes-%.txt\r\n"
        : "-rw-r--r--    1 ann      staff      % Nov 21 17:00 notes-%.txt\r\n"
    var listing: [UInt8] = []
    for number in 0..<count { listing += line.split(separator: "%").joined(separator: "\(100_000 + number)").utf8 }
    measure_begin()
    let entries = try ListingParser.entries(of: listing, ListingOptions(now: 1_795_262_400))
    guard entries.count == count else { stop("\(entries.count) entries") }
    measure_end(Double(count), Double(listing.count))
}
