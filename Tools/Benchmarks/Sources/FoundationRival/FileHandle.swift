internal import BenchmarkRows
internal import CMeasure
internal import Foundation

/// Foundation has no socket streams on Linux; a FileHandle over a connected descriptor is the closest alternative.
let fileHandleRow = Row("read") { arguments in
    let size = arguments.number("buffer")
    let port = Int32(arguments.number("port"))
    var reads = 0
    var bytes = 0
    measure_begin()
    let file = FileHandle(fileDescriptor: measure_connect(port), closeOnDealloc: true)
    while let data = try file.read(upToCount: size), !data.isEmpty {
        reads += 1
        bytes += data.count
    }
    measure_end(Double(reads), Double(bytes))
}
