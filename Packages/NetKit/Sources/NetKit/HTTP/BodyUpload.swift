internal import HTTPMessage
internal import StreamKit

/// Takes a request's body from its stream, framed, a bounded piece at a time.
struct BodyUpload: Sendable {
    /// What one step came to.
    enum Progress {
        /// So many bytes are ready to go out.
        case piece(Int)
        /// The stream has no more now.
        case blocks
        /// Everything was taken.
        case done
    }

    /// Closed by the load, also at its end.
    let source: ReadStream
    /// Nil for chunks.
    private let length: Int64?
    /// For chunks: the payload on its way into them.
    private var payload: [UInt8] = []
    private var isComplete = false
    /// How many bytes of the body have been taken.
    private(set) var taken: Int64 = 0

    init(_ source: ReadStream, length: Int64?) throws(StreamError) {
        self.source = source
        self.length = length
        try source.open()
    }

    /// Puts the next framed piece into `outgoing`, in place of what was there.
    ///
    /// - Throws: what the stream throws, and if it ends before the announced length.
    mutating func next(into outgoing: inout [UInt8]) throws(StreamError) -> Progress {
        if isComplete { return .done }
        if let length {
            // What the stream gives beyond the announced length is cut.
            if taken == length { return finish() }
            let room = Int(min(Int64(ReadStream.chunkSize), length - taken))
            guard let count = try BodyUpload.read(source, room, into: &outgoing) else { return .blocks }
            if count == 0 { throw .bodyTooShort(taken, of: length) }
            taken += Int64(count)
            return .piece(count)
        }
        guard let count = try BodyUpload.read(source, ReadStream.chunkSize, into: &payload) else { return .blocks }
        taken += Int64(count)
        outgoing.removeAll(keepingCapacity: true)
        if count > 0 {
            ChunkedEncoder.write(payload.span.bytes.extracting(..<count), into: &outgoing)
        } else {
            do throws(HTTPMessageError) {
                try ChunkedEncoder.writeEnd(into: &outgoing)
            } catch {
                throw StreamError(error)
            }
            _ = finish()
        }
        return .piece(outgoing.count)
    }

    private static func read(
        _ source: ReadStream, _ room: Int, into bytes: inout [UInt8]
    ) throws(StreamError) -> Int? {
        if bytes.count < room { bytes = [UInt8](repeating: 0, count: ReadStream.chunkSize) }
        var span = bytes.mutableSpan
        var memory = span.mutableBytes
        return try memory.withPart(0..<room) { (part) throws(StreamError) in try source.tryRead(into: &part) }
    }

    private mutating func finish() -> Progress {
        isComplete = true
        return .done
    }
}
