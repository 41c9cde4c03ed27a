internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import Glibc
internal import StreamKit

/// scale: many idle connections, each with a task suspended in a read, and a tenth as many that send and receive meanwhile.
///
/// Ends with an error if the number of threads or descriptors grows with the number of connections.
let scale = Row(async: "scale") { arguments in
    let idle = arguments.number("connections")
    let active = max(1, idle / 10)
    guard let echo = UInt16(exactly: arguments.number("echo")) else { stop("echo= is not a port") }
    var readers: [Task<Void, any Error>] = []
    readers.reserveCapacity(idle + 1)
    readers.append(try await reader(arguments))
    await everythingQueued()
    let before = measure_private_bytes()
    measure_begin()
    for _ in 0..<idle { readers.append(try await reader(arguments)) }
    await everythingQueued()
    measure_note("memory", Double(measure_private_bytes() - before))
    try await withNetworkExecutor {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<active { group.addTask { try await converse(port: echo) } }
            try await group.waitForAll()
        }
    }
    let (threads, descriptors) = (entries(of: "/proc/self/task"), entries(of: "/proc/self/fd"))
    measure_note("threads", Double(threads))
    measure_note("descriptors", Double(descriptors))
    if threads > 16 { stop("\(threads) threads for \(idle + active) connections") }
    if descriptors > idle + 64 { stop("\(descriptors) descriptors for \(idle) connections") }
    measure_end(Double(idle), 0)
}

/// A hundred round trips of 64 bytes.
private func converse(port: UInt16) async throws {
    let pair = StreamPair(host: "127.0.0.1", port: port)
    try pair.open()
    defer { pair.close() }
    var bytes = [UInt8](repeating: 1, count: 64)
    for _ in 0..<100 {
        try await pair.output.writeAll(bytes)
        var count = 0
        while count < 64 {
            let more = try await pair.input.read(into: &bytes)
            if more == 0 { stop("no echo") }
            count += more
        }
    }
}

private func entries(of path: String) -> Int {
    guard let folder = opendir(path) else { return 0 }
    defer { closedir(folder) }
    var count = -2  // without "." and ".."
    while readdir(folder) != nil { count += 1 }
    return count
}
