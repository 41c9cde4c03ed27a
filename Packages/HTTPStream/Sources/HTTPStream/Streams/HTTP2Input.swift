internal import StreamKit

/// What an ``HTTP2Link`` has read from its connection and its core has not received.
struct HTTP2Input: Sendable {
    /// The range of the sizes of one read.
    private static var readSizes: ClosedRange<Int> { 4 * 1024...64 * 1024 }
    /// The maximum number of bytes that the core receives before other work of the loop may run: a peer can send a thousand frames in them.
    static var maximumPiece: Int { 8 * 1024 }
    /// The maximum number of pieces that the loop reads in one turn: what fast memory holds until the callers read it.
    static var maximumPiecesPerTurn: Int { 8 }

    /// The memory, which grows while the peer fills it; none without messages.
    private(set) var memory: [UInt8] = []
    /// The part that the core has not received.
    private var unread = 0..<0
    /// Whether all input has been read: the next edge announces more.
    private(set) var isExhausted = false

    /// Whether there may be input that the core has not received.
    var mayContinue: Bool { !isExhausted || !unread.isEmpty }

    /// Whether the core has received everything that has been read.
    var isEmpty: Bool { unread.isEmpty }

    /// Whether the last read has returned more than one piece.
    var wasLong: Bool { unread.upperBound >= HTTP2Input.maximumPiece }

    /// There may be more to read.
    mutating func noteMore() { isExhausted = false }

    /// Reads as many bytes as there are, up to the size of the memory, once the core has received everything. Returns their number, 0 at the end;
    /// nil if there are none.
    ///
    /// - Throws: the error of the connection.
    mutating func fill(from stream: ReadStream) throws(StreamError) -> Int? {
        let sizes = HTTP2Input.readSizes
        // All of it was filled by the last read.
        if unread.upperBound == memory.count, memory.count < sizes.upperBound {
            memory = [UInt8](repeating: 0, count: max(sizes.lowerBound, 4 * memory.count))
        }
        var span = memory.mutableSpan
        var target = span.mutableBytes
        let count = try stream.tryRead(into: &target)
        isExhausted = count == nil || count == 0
        unread = 0..<(count ?? 0)
        return count
    }

    /// Removes bytes from the front of what has been read. Returns their place in ``memory``.
    mutating func takePiece(upTo maximumCount: Int) -> Range<Int> {
        let piece = unread.prefix(maximumCount)
        unread = piece.endIndex..<unread.upperBound
        return piece
    }

    /// Frees the memory, unless there may be input.
    mutating func freeMemory() {
        if !mayContinue { (memory, unread) = ([], 0..<0) }
    }
}
