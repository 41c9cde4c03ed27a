internal import HTTPMessage
internal import StreamKit

/// Takes the content coding off a body (RFC 9110 §8.4), a bounded piece at a time.
struct ContentDecoder: Sendable {
    /// How much is decoded at once, and held at most.
    static let pieceSize = 64 * 1024

    private let coding: String
    private let limit: Int64
    private var zlib: Zlib?
    private var piece: [UInt8] = []
    private var position = 0
    private var end = 0
    private var total: Int64 = 0
    private var hasEnded = false

    /// Nil for a body that is not coded, or coded in a way that is not known here: that one is delivered as it is.
    init?(for response: HTTPResponse, limit: Int64) {
        guard let coding = response.fields[.contentEncoding]?.lowercased(),
            ["gzip", "x-gzip", "deflate"].contains(coding)
        else { return nil }
        self.coding = coding
        self.limit = limit
    }

    /// True if decoded bytes are waiting.
    var hasBytes: Bool { position < end }

    /// Moves decoded bytes out.
    mutating func read(into target: inout MutableRawSpan) -> Int {
        let count = min(target.byteCount, end - position)
        target.withUnsafeMutableBytes { target in
            piece.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
            }
        }
        position += count
        return count
    }

    /// Decodes from the front of `input` into the empty piece; gives how many bytes were used.
    ///
    /// - Throws: for data that are not what the head says, and beyond the limit.
    mutating func decode(_ input: RawSpan) throws(StreamError) -> Int {
        let zlib = try engine(for: input)
        if hasEnded {
            // Another member may follow (RFC 1952 §2.2); what else follows the coded data is not the body.
            guard zlib.format == .gzip, input.unsafeLoad(as: UInt8.self) == 0x1f, zlib.restart() else {
                return input.byteCount
            }
            hasEnded = false
        }
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: ContentDecoder.pieceSize) }
        guard let step = piece.withUnsafeMutableBytes({ zlib.step(input, into: $0) }) else {
            throw .badContentCoding(coding)
        }
        position = 0
        end = step.produced
        hasEnded = step.hasEnded
        total += Int64(step.produced)
        guard total <= limit else { throw .decodedTooMuch(limit) }
        return step.consumed
    }

    /// The coded body has ended; decodes what zlib still holds, so look at ``hasBytes`` afterwards.
    ///
    /// - Throws: if the data had not ended; a body of no bytes at all is taken for an empty one.
    mutating func finish() throws(StreamError) {
        guard !hasEnded, zlib != nil else { return }
        let nothing: [UInt8] = []
        _ = try decode(nothing.span.bytes)
        if !hasBytes, !hasEnded { throw .badContentCoding(coding) }
    }

    private mutating func engine(for input: RawSpan) throws(StreamError) -> Zlib {
        if let zlib { return zlib }
        guard !input.isEmpty else { throw .badContentCoding(coding) }
        // What is called deflate is the zlib format; a first byte that cannot begin it shows a server that sends raw data.
        let first = input.unsafeLoad(as: UInt8.self)
        let format: Zlib.Format = coding == "deflate" ? (first & 0x0f == 8 ? .zlib : .raw) : .gzip
        let zlib = try Zlib(format)
        self.zlib = zlib
        return zlib
    }
}
