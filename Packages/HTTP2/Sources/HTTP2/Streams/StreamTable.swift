/// The streams of a connection that are open or that the program still holds, by identifier.
///
/// Streams live in an array of structs with a list of free places. A stream that is removed is forgotten: an identifier
/// below the highest so far that is not in the table is that of a closed stream (RFC 9113 §5.1.1).
struct StreamTable: Sendable {
    /// The streams. A place that is free has the identifier 0.
    private var places: [Stream] = []
    private var freePlaces: [Int] = []
    private var index = StreamIndex()

    /// The number of streams.
    var count: Int { index.count }

    /// The stream in a place.
    subscript(place: Int) -> Stream {
        @inline(__always) _read { yield places[place] }
        @inline(__always) _modify { yield &places[place] }
    }

    /// The places of all streams.
    var occupied: [Int] { places.indices.filter { places[$0].id != .connection } }

    /// Returns the place of a stream, or nil if it is not in the table.
    @inline(__always)
    func place(of id: StreamID) -> Int? { index.place(of: id) }

    /// Adds a stream that both sides may send on, and returns its place.
    mutating func insert(
        _ id: StreamID, _ receiveWindow: ReceiveWindow, _ sendWindow: SendWindow, incoming: IncomingMessage,
        outgoing: OutgoingMessage, now: Duration
    ) -> Int {
        let place: Int
        if let free = freePlaces.popLast() {
            place = free
            // The memory of the stream before serves this one.
            places[place] = Stream(
                id: id, receiveWindow: receiveWindow, sendWindow: sendWindow, body: places[place].takeBody(),
                incoming: incoming, outgoing: outgoing, now: now)
        } else {
            place = places.count
            places.append(
                Stream(
                    id: id, receiveWindow: receiveWindow, sendWindow: sendWindow, incoming: incoming,
                    outgoing: outgoing, now: now))
        }
        index.insert(id, place: place)
        return place
    }

    /// Removes the stream in a place.
    mutating func remove(_ place: Int) {
        index.remove(places[place].id)
        places[place].clear()
        freePlaces.append(place)
    }
}
