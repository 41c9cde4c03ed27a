internal import StreamKit

/// Bytes that were received and not yet consumed, in one array that is reused.
struct ReceiveBuffer: Sendable {
    private var bytes: [UInt8]
    private(set) var start = 0
    private(set) var end = 0
    private let initialCapacity: Int

    init(capacity: Int) {
        initialCapacity = capacity
        bytes = [UInt8](repeating: 0, count: capacity)
    }

    var isEmpty: Bool { start == end }
    /// Whether the last read did not fill the array, which means that it emptied the socket.
    var hasRoom: Bool { end < bytes.count }
    var count: Int { end - start }

    /// Calls `body` with the bytes.
    func withBytes<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(bytes.span.bytes.extracting(start..<end))
    }

    /// Removes bytes from the front.
    mutating func remove(_ count: Int) {
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    /// Copies the bytes of `range`, counted from the front, into a target that has room for them.
    func copy(_ range: Range<Int>, into target: inout MutableRawSpan) {
        target.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source in
                target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: source[start + range.lowerBound..<start + range.upperBound]))
            }
        }
    }

    /// Reads from `stream`. Returns the number of bytes, 0 at the end, or nil if there are none now; with `waits`, waits for
    /// some.
    ///
    /// The buffer grows while its contents cannot be consumed; the limits for heads bound that growth.
    mutating func fill(from stream: ReadStream, waits: Bool = false) throws(StreamError) -> Int? {
        try fill { (part) throws(StreamError) in
            waits ? try stream.read(into: &part) : try stream.tryRead(into: &part)
        }
    }

    /// Reads by a closure, which returns the number of bytes, or nil.
    @discardableResult
    mutating func fill<Failure: Error>(
        _ read: (inout MutableRawSpan) throws(Failure) -> Int?
    ) throws(Failure) -> Int? {
        if end == bytes.count {
            if start > 0 {
                bytes.removeSubrange(0..<start)
                bytes.append(contentsOf: repeatElement(0, count: start))
                end -= start
                start = 0
            } else {
                bytes.append(contentsOf: repeatElement(0, count: bytes.count))
            }
        }
        let free = end..<bytes.count
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        let count = try raw.withPart(free) { (part) throws(Failure) -> Int? in try read(&part) }
        end += count ?? 0
        return count
    }

    /// Reads from `stream`, suspending until bytes arrive. Returns their number, 0 at the end.
    nonisolated(nonsending) mutating func fill(from stream: ReadStream) async throws(StreamError) -> Int {
        // If the buffer is empty, the whole array is filled; otherwise a try and a wait fill the free part.
        if start == end {
            (start, end) = (0, 0)
            end = try await stream.read(into: &bytes)
            return end
        }
        while true {
            if let count = try fill(from: stream, waits: false) { return count }
            try await stream.ready()
        }
    }

    /// Whether the first line that is not empty ends within `limit` bytes.
    func hasLine(within limit: Int) -> Bool {
        let isLineEnd = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
        return bytes[start..<end].drop(while: isLineEnd).prefix(limit + 1).contains(where: isLineEnd)
    }

    /// Releases memory that a large head has taken.
    mutating func shrink() {
        if bytes.count > initialCapacity { self = ReceiveBuffer(capacity: initialCapacity) }
    }
}

extension MutableRawSpan {
    /// Calls `body` with a part of the memory.
    mutating func withPart<Result, Failure: Error>(
        _ range: Range<Int>, _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The standard library's name in Swift 6.3; the name without the underscore is deprecated there.
        var part = _mutatingExtracting(range)
        return try body(&part)
    }
}
