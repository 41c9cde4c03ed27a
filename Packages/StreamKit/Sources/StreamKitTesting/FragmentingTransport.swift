internal import EventLoops
public import StreamKit

extension TestTransport {
    /// Makes a layer that moves few bytes at a time and reports that it would block before each piece.
    ///
    /// Code that works over this layer does not rely on bytes arriving together.
    ///
    /// ```swift
    /// let stream = ReadStream(transport: TestTransport.fragmenting(lower, pieceSize: 1))
    /// ```
    ///
    /// - Parameters:
    ///   - lower: the transport that moves the bytes.
    ///   - pieceSize: the most bytes that one call moves, at least 1.
    public static func fragmenting(_ lower: any StreamTransport, pieceSize: Int = 1) -> any StreamTransport {
        FragmentingTransport(over: lower, pieceSize: pieceSize)
    }
}

/// The transport of ``TestTransport/fragmenting(_:pieceSize:)``.
private final class FragmentingTransport: TestLayer {
    let lower: any StreamTransport
    private let pieceSize: Int
    private let turns = Locked((read: false, write: false))

    init(over lower: any StreamTransport, pieceSize: Int = 1) {
        self.lower = lower
        self.pieceSize = max(1, pieceSize)
    }

    /// Reads at most one piece. Every second call returns `.wouldBlock`, even if bytes are available.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if turns.withLock({ turns in
            turns.read.toggle()
            return turns.read
        }) {
            return pause(.readable)
        }
        var piece = [UInt8](repeating: 0, count: min(pieceSize, buffer.byteCount))
        var span = piece.mutableSpan
        var bytes = span.mutableBytes
        let attempt = try lower.tryRead(into: &bytes)
        guard case .moved(let count) = attempt else { return attempt }
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: piece[..<count]) }
        return attempt
    }

    /// Writes at most one piece. Every second call returns `.wouldBlock`, even if there is room.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if turns.withLock({ turns in
            turns.write.toggle()
            return turns.write
        }) {
            return pause(.writable)
        }
        return try lower.tryWrite(bytes.extracting(..<min(pieceSize, bytes.byteCount)))
    }

    /// Returns `.wouldBlock`, but signals the wait point, so that a waiting call retries at once.
    private func pause(_ interest: Interest) -> Attempt {
        lower.waitPoint.signal(interest)
        return .wouldBlock(interest)
    }
}
