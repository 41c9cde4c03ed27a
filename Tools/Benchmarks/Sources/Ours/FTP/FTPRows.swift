internal import BenchmarkRows
internal import FTPStream
internal import Foundation

let ftpRows = [ftpRead, ftpReadAsync, ftpWrite, ftpFiles, ftpList, ftpParse]

/// The URL from the command line.
func ftpURL(_ arguments: Arguments, _ path: String = "") -> URL {
    guard let url = URL(string: arguments.text("url") + path) else { stop("url= is not a URL") }
    return url
}
