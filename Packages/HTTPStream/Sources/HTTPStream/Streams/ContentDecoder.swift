internal import HTTPMessage
internal import StreamKit

/// The result of one step of a compression or decompression.
@_spi(Compression)
public struct CodingStep: Sendable {
    /// The number of bytes taken from the input.
    public var consumed: Int
    /// The number of bytes written to the output.
    public var produced: Int
    /// Whether the data have ended; bytes that follow are not part of them.
    public var hasEnded: Bool
}

/// The content codings that can be decoded (RFC 9110 §8.4.1). Brotli and Zstandard require their libraries.
enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstandard = "zstd"

    /// Returns nil for an unknown coding, and for one whose library is not installed.
    init?(named name: String) {
        let name = name.lowercased()
        guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name), coding.isAvailable else {
            return nil
        }
        self = coding
    }

    /// Whether the coding's library is installed. zlib is, wherever Foundation is.
    var isAvailable: Bool {
        switch self {
        case .gzip, .deflate: true
        case .brotli: Brotli.isAvailable
        case .zstandard: Zstandard.isAvailable
        }
    }

    /// Every available coding, as the value of `Accept-Encoding`.
    static let accepted = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

    /// The line that requests every available coding.
    static let acceptField: [UInt8] = Array("Accept-Encoding: \(accepted)\r\n".utf8)
}

/// Removes the content codings of a body (RFC 9110 §8.4), one bounded piece at a time. A separate object, because a load is moved
/// and destroyed with each of its fields, and most bodies have no coding.
///
/// Theory of operation. A body may have several codings, `gzip, br`, which are removed from the last one on. Each has a stage, whose
/// output is the input of the next. A stage decodes into a piece of its own when that is empty, so that the memory is bounded
/// by the number of stages. The output of each stage is limited, so that the work is bounded as well: what a stage decodes may be
/// the beginnings and ends of empty members, of which nothing comes out at the end.
final class ContentDecoder: @unchecked Sendable {
    // Unchecked: only the load refers to it, one step at a time.

    /// The maximum number of codings of one body. A body with more is delivered as it is, as one with an unknown coding: each multiplies
    /// what a byte can become. Servers use one of the file and one of their own, and a chain of them as many as it has members.
    static let maximumCodings = 5

    private let stages: [DecodingStage]

    /// Returns nil for a body without a coding, with one that is unknown, or with too many, and for a part of a body (206), which cannot be
    /// decoded alone. It is delivered as it is.
    ///
    /// - Parameter limit: the maximum number of bytes that the removal of each coding may produce.
    init?(for response: HTTPResponse, limit: Int64) {
        guard response.fields.contains(.contentEncoding), response.status != .partialContent else { return nil }
        let names = response.fields.contentCodings
        let codings = names.compactMap { ContentCoding(named: $0) }
        guard !codings.isEmpty, codings.count == names.count, codings.count <= ContentDecoder.maximumCodings else {
            return nil
        }
        stages = codings.reversed().map { DecodingStage($0, limit: limit) }
    }

    /// Whether decoded bytes are available.
    var hasBytes: Bool { stages[stages.count - 1].hasBytes }

    /// Moves decoded bytes into `target`. Returns their number.
    func read(into target: inout MutableRawSpan) -> Int { stages[stages.count - 1].read(into: &target) }

    /// Makes one step, while ``hasBytes`` is false: passes bytes from one stage to the next, or decodes from the front of `input`.
    ///
    /// - Returns: the number of bytes consumed, which is 0 if a stage had bytes for the next one, and the number of bytes that went into a
    ///   stage, for the budget of a turn.
    /// - Throws: an error if the data do not have the declared codings, or exceed the limit.
    func decode(_ input: RawSpan) throws(StreamError) -> (consumed: Int, cost: Int) {
        if let cost = try passOn() { return (0, cost) }
        let consumed = try stages[0].decode(input)
        return (consumed, consumed)
    }

    /// Makes one step to the end of the body, whose bytes have all been decoded, while ``hasBytes`` is false.
    ///
    /// - Returns: nil at the end, otherwise the number of bytes that went into a stage: read what has been decoded, and call it again.
    /// - Throws: an error if the coded data are incomplete. A body of no bytes at all counts as an empty one.
    func finish() throws(StreamError) -> Int? {
        if let cost = try passOn() { return cost }
        for stage in stages {
            try stage.finish()
            if stage.hasBytes { return 0 }
        }
        return nil
    }

    /// Passes bytes to the last stage that can have some. Returns their number; nil if no stage has any for the next one.
    private func passOn() throws(StreamError) -> Int? {
        guard let index = stages.dropLast().lastIndex(where: \.hasBytes) else { return nil }
        return try stages[index].pass(to: stages[index + 1])
    }
}

/// The removal of one content coding.
private final class DecodingStage: @unchecked Sendable {
    // Unchecked: it belongs to a decoder.

    /// The number of bytes decoded at once, which is also the most that are held.
    private static let pieceSize = 64 * 1024

    /// A decompression that has begun.
    private enum Engine: Sendable {
        case zlib(Zlib)
        case brotli(Brotli)
        case zstandard(Zstandard)

        func decode(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) -> CodingStep? {
            switch self {
            case .zlib(let zlib): zlib.inflate(input, into: output)
            case .brotli(let brotli): brotli.decode(input, into: output)
            case .zstandard(let zstandard): zstandard.decode(input, into: output)
            }
        }

        /// Whether bytes after ended data begin another member of them (RFC 1952 §2.2), or another frame (RFC 8878 §3).
        func continues(with first: UInt8) -> Bool {
            switch self {
            case .zlib(let zlib):
                if case .gzip = zlib.format { first == 0x1f && zlib.restart() } else { false }
            case .brotli: false
            case .zstandard: Zstandard.beginsFrame(first)
            }
        }
    }

    private let coding: ContentCoding
    private let limit: Int64
    /// The number of decoded bytes.
    private var total: Int64 = 0
    private var engine: Engine?
    private var piece: [UInt8] = []
    private var position = 0
    private var end = 0
    private var hasEnded = false

    init(_ coding: ContentCoding, limit: Int64) {
        self.coding = coding
        self.limit = limit
    }

    /// Whether decoded bytes are available.
    var hasBytes: Bool { position < end }

    /// Moves decoded bytes into `target`. Returns their number.
    func read(into target: inout MutableRawSpan) -> Int {
        let count = min(target.byteCount, end - position)
        target.withUnsafeMutableBytes { target in
            piece.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
            }
        }
        position += count
        return count
    }

    /// Lets the next stage decode some of the decoded bytes. Returns their number.
    func pass(to next: DecodingStage) throws(StreamError) -> Int {
        let piece = piece
        let count = try next.decode(piece.span.bytes.extracting(position..<end))
        position += count
        return count
    }

    /// Decodes from the front of `input` into the empty piece. Returns the number of bytes consumed.
    func decode(_ input: RawSpan) throws(StreamError) -> Int {
        let engine = try engine(for: input)
        if hasEnded {
            // Other bytes after the coded data do not belong to the body.
            guard engine.continues(with: input.unsafeLoad(as: UInt8.self)) else { return input.byteCount }
            hasEnded = false
        }
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: DecodingStage.pieceSize) }
        guard let step = piece.withUnsafeMutableBytes({ engine.decode(input, into: $0) }) else {
            throw .badContentCoding(coding.rawValue)
        }
        position = 0
        end = step.produced
        hasEnded = step.hasEnded
        total += Int64(step.produced)
        guard total <= limit else { throw .decodedTooMuch(limit) }
        return step.consumed
    }

    /// Ends the coded data. Decodes what the engine still holds.
    func finish() throws(StreamError) {
        guard !hasEnded, engine != nil else { return }
        let nothing: [UInt8] = []
        _ = try decode(nothing.span.bytes)
        if !hasBytes, !hasEnded { throw .badContentCoding(coding.rawValue) }
    }

    private func engine(for input: RawSpan) throws(StreamError) -> Engine {
        if let engine { return engine }
        guard !input.isEmpty else { throw .badContentCoding(coding.rawValue) }
        let engine = try makeEngine(first: input.unsafeLoad(as: UInt8.self))
        self.engine = engine
        return engine
    }

    private func makeEngine(first: UInt8) throws(StreamError) -> Engine {
        switch coding {
        case .gzip: return .zlib(try Zlib(inflating: .gzip))
        // "deflate" means the zlib format. A first byte that cannot begin it indicates a server that sends raw data.
        case .deflate: return .zlib(try Zlib(inflating: first & 0x0f == 8 ? .zlib : .raw()))
        case .brotli: if let brotli = Brotli() { return .brotli(brotli) }
        case .zstandard: if let zstandard = Zstandard() { return .zstandard(zstandard) }
        }
        throw .badContentCoding(coding.rawValue)
    }
}
