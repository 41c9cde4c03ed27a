internal import StreamKit

/// The input of an ``HTTP2Link``: bytes read from the connection that the core has not received.
struct HTTP2Input: Sendable {
    /// The range of the sizes of one read.
    private static var readSizes: ClosedRange<Int> { 4 * 1024...64 * 1024 }
    /// The maximum number of bytes that the core receives before other work of the loop may run: a peer can send a thousand frames in them.
    static var maximumPieceSize: Int { 8 * 1024 }
    /// The maximum number of pieces that the loop reads in one turn. Their data is still in the processor's cache when the callers read it.
    static var maximumPiecesPerTurn: Int { 8 }

    /// The memory, which grows while the peer fills it. Empty while the connection has no messages.
    private(set) var memory: [UInt8] = []
    /// The part that the core has not received.
    private var pending = 0..<0
    /// Whether all input has been read: the next edge announces more.
    private(set) var isExhausted = false

    /// Whether there may be input that the core has not received.
    var mayHaveMore: Bool { !isExhausted || !pending.isEmpty }

    /// Whether the core has received everything that has been read.
    var isEmpty: Bool { pending.isEmpty }

    /// Whether the last read has returned at least one whole piece.
    var wasLastReadLong: Bool { pending.upperBound >= HTTP2Input.maximumPieceSize }

    /// There may be more to read.
    mutating func noteMore() { isExhausted = false }

    /// Reads as many bytes as there are, up to the size of the memory, once the core has received everything. Returns their number, 0 at the end;
    /// nil if there are none.
    ///
    /// - Throws: the error of the connection.
    mutating func fill(from stream: ReadStream) throws(StreamError) -> Int? {
        let sizes = HTTP2Input.readSizes
        // The last read filled the whole memory.
        if pending.upperBound == memory.count, memory.count < sizes.upperBound {
            memory = [UInt8](repeating: 0, count: max(sizes.lowerBound, 4 * memory.count))
        }
        var span = memory.mutableSpan
        var target = span.mutableBytes
        let count = try stream.tryRead(into: &target)
        isExhausted = count == nil || count == 0
        pending = 0..<(count ?? 0)
        return count
    }

    /// Removes bytes from the front of what has been read. Returns their place in ``memory``.
    mutating func takePiece(upTo maximumCount: Int) -> Range<Int> {
        let piece = pending.prefix(maximumCount)
        pending = piece.endIndex..<pending.upperBound
        return piece
    }

    /// Frees the memory, unless there may be input.
    mutating func freeMemory() {
        if !mayHaveMore { (memory, pending) = ([], 0..<0) }
    }
}
