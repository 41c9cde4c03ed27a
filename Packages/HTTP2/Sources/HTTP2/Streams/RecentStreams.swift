/// The streams that were closed last: as many as can be open twice over, and at least 128. All others are forgotten.
struct RecentStreams: Sendable {
    private struct Entry: BitwiseCopyable {
        var stream: StreamID
        var wasResetHere: Bool
    }

    /// In the order in which they were closed, from `oldest` on and around the end.
    private var closed: [Entry] = []
    private var oldest = 0
    private var indexMap = StreamIndexMap()
    private let maximumCount: Int

    init(_ limits: HTTP2Limits) {
        maximumCount = max(Self.smallestCount, 2 * limits.maximumConcurrentStreams)
    }

    private static let smallestCount = 128

    /// Whether a stream was closed lately.
    func contains(_ stream: StreamID) -> Bool { indexMap.index(of: stream) != nil }

    /// Whether this side has reset a stream lately. The peer may have sent frames on it before it knew (RFC 9113 §5.1).
    func wasResetHere(_ stream: StreamID) -> Bool {
        indexMap.index(of: stream).map { closed[$0].wasResetHere } ?? false
    }

    /// Notes a closed stream. One that was reset is noted again when the program closes it, which changes nothing.
    mutating func insert(_ stream: StreamID, wasResetHere: Bool) {
        if let index = indexMap.index(of: stream) {
            if wasResetHere { closed[index].wasResetHere = true }
            return
        }
        let entry = Entry(stream: stream, wasResetHere: wasResetHere)
        if closed.count < maximumCount {
            indexMap.insert(stream, index: closed.count)
            closed.append(entry)
        } else {
            indexMap.remove(closed[oldest].stream)
            indexMap.insert(stream, index: oldest)
            closed[oldest] = entry
            oldest = oldest + 1 == maximumCount ? 0 : oldest + 1
        }
    }
}
