/// The streams of a connection that are open or that the program still holds, by identifier.
///
/// Streams live in an array of structs with a list of free indices. A stream that is removed is forgotten: an identifier
/// below the highest so far that is not in the table is that of a closed stream (RFC 9113 §5.1.1).
struct StreamTable: Sendable {
    /// The streams. One that is free has the identifier 0.
    private var streams: [Stream] = []
    private var freeIndices: [Int] = []
    private var indexMap = StreamIndexMap()

    /// The number of streams.
    var count: Int { indexMap.count }

    /// The stream at an index.
    subscript(index: Int) -> Stream {
        _read { yield streams[index] }
        _modify { yield &streams[index] }
    }

    /// The indices of all streams, in any order.
    var indices: [Int] { streams.indices.filter { streams[$0].id != .connection } }

    /// Returns the index of a stream, or nil if it is not in the table.
    @inline(__always)
    func index(of id: StreamID) -> Int? { indexMap.index(of: id) }

    /// Adds a stream that both sides may send on, and returns its index.
    mutating func insert(
        _ id: StreamID, _ receiveWindow: ReceiveWindow, _ sendWindow: SendWindow, incoming: IncomingMessage,
        outgoing: OutgoingMessage, now: Duration
    ) -> Int {
        let index: Int
        if let free = freeIndices.popLast() {
            index = free
            // The memory of the stream before serves this one.
            streams[index] = Stream(
                id: id, receiveWindow: receiveWindow, sendWindow: sendWindow, body: streams[index].takeBody(),
                incoming: incoming, outgoing: outgoing, now: now)
        } else {
            index = streams.count
            streams.append(
                Stream(
                    id: id, receiveWindow: receiveWindow, sendWindow: sendWindow, incoming: incoming,
                    outgoing: outgoing, now: now))
        }
        indexMap.insert(id, index: index)
        return index
    }

    /// Removes the stream at an index.
    mutating func remove(_ index: Int) {
        indexMap.remove(streams[index].id)
        streams[index].clear()
        freeIndices.append(index)
    }
}
