internal import HTTPStream

/// Reads a range of a file piece by piece, and compresses it.
final class FilePieces: @unchecked Sendable {
    // Unchecked: `next()` is called on threads for files, but only after the previous call has returned. After a wait for it that
    // has failed, neither it nor `cached()` is called again.

    private let file: OpenedFile
    private let end: Int64
    private let encoder: GzipEncoder?
    private var position: Int64

    /// The number of bytes that one call reads: enough to make the change of the thread cheap, and few where they are compressed.
    private var pieceLength: Int64 { encoder == nil ? 128 * 1024 : 64 * 1024 }

    /// - Parameter level: the level of the compression; nil for none.
    init(_ file: OpenedFile, _ range: Range<Int64>, level: Int?) throws(StreamError) {
        self.file = file
        end = range.upperBound
        position = range.lowerBound
        encoder = try level.map { level throws(StreamError) in try GzipEncoder(level: level) }
    }

    /// Returns the next bytes to send; nil at the end. Blocks the calling thread.
    func next() throws(StreamError) -> [UInt8]? {
        if position == end { return nil }
        var piece = try file.read(at: position, upTo: nextLength)
        position += Int64(piece.count)
        if let encoder { piece = try encoder.encode(piece.span.bytes, isLast: position == end) }
        return piece
    }

    /// Returns the next bytes to send if they are in memory and need no compression, which would take too long on a loop.
    func cached() -> [UInt8]? {
        guard encoder == nil, position < end else { return nil }
        let piece = file.readCached(at: position, upTo: nextLength)
        position += Int64(piece.count)
        return piece.isEmpty ? nil : piece
    }

    private var nextLength: Int { Int(min(pieceLength, end - position)) }
}
