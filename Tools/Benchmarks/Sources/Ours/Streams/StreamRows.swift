internal import BenchmarkRows
internal import StreamKit

let streamRows = [
    read, readAsync, write, writeAsync, ping, pingAsync, idle, idleAsync, scale, tlsRead, tlsReadAsync,
    tlsHandshakes,
]

/// Starts a connection to the peer on this machine.
func connect(_ arguments: Arguments) throws -> StreamPair {
    guard let port = UInt16(exactly: arguments.number("port")) else { stop("port= is not a port") }
    let pair = StreamPair(host: "127.0.0.1", port: port)
    try pair.open()
    return pair
}
