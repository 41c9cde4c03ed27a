internal import StreamKit

/// One connection to a server, and what has been received on it.
final class HTTPConnection: @unchecked Sendable {
    // Unchecked: it has one owner at a time, who uses it inside a lock: the load that took or made it, or the pool.

    /// 16 KiB: a head and a small body in one read; large bodies are read past it.
    static let bufferSize = 16 * 1024

    let pair: StreamPair
    let key: HTTPConnectionKey
    var buffer = ReceiveBuffer(capacity: HTTPConnection.bufferSize)
    /// How many requests it has carried before this one.
    var requests = 0

    init(pair: StreamPair, key: HTTPConnectionKey) {
        self.pair = pair
        self.key = key
    }

    /// True if it has carried a request before, and the server may have given it up meanwhile.
    var isReused: Bool { requests > 0 }

    /// True if it can carry another request: open, quiet, nothing left over.
    ///
    /// What a server sends unasked, an end or an answer to nothing, must not be taken for the answer to the next request.
    var isIdle: Bool {
        buffer.isEmpty && pair.output.status == .open && pair.input.status == .open && !pair.input.hasBytesAvailable
    }
}
