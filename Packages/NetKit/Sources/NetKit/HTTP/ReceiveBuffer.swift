internal import StreamKit

/// Bytes that were received and not yet used, in one array that is reused.
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
    /// The last read into it left room: it was given all that there was.
    var hasRoom: Bool { end < bytes.count }
    var count: Int { end - start }

    /// Looks at the bytes.
    func withBytes<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(bytes.span.bytes.extracting(start..<end))
    }

    /// Forgets bytes at the front.
    mutating func remove(_ count: Int) {
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    /// Copies bytes from `range`, counted from the front, into a target that has room for them.
    func copy(_ range: Range<Int>, into target: inout MutableRawSpan) {
        target.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source in
                target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: source[start + range.lowerBound..<start + range.upperBound]))
            }
        }
    }

    /// Reads more from `stream`: how many bytes, 0 at the end, nil if there are none now; with `waits` it waits for some.
    ///
    /// The buffer grows while what it holds cannot be used; the limits for heads bound that.
    mutating func fill(from stream: ReadStream, waits: Bool = false) throws(StreamError) -> Int? {
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
        let count = try raw.withPart(free) { (part) throws(StreamError) -> Int? in
            waits ? try stream.read(into: &part) : try stream.tryRead(into: &part)
        }
        end += count ?? 0
        return count
    }

    /// Reads more from `stream`, waiting for some as a task: how many bytes, 0 at the end.
    nonisolated(nonsending) mutating func fill(from stream: ReadStream) async throws(StreamError) -> Int {
        // With nothing in it, the whole of it is read into; what little else there is, with a try and a wait.
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

    /// Whether the first line that is not empty ends within so many bytes.
    func hasLine(within limit: Int) -> Bool {
        let isLineEnd = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
        return bytes[start..<end].drop(while: isLineEnd).prefix(limit + 1).contains(where: isLineEnd)
    }

    /// Gives memory back that a large head has taken.
    mutating func shrink() {
        if bytes.count > initialCapacity { self = ReceiveBuffer(capacity: initialCapacity) }
    }
}
