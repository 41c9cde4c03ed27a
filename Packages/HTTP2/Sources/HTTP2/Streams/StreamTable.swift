/// The streams of a connection that are open or that the program still holds, by identifier.
///
/// Streams live in an array of structs with a list of free places. An index of open addressing finds them: as identifiers grow by two,
/// the lower bits of `id >> 1` spread them without a hash function. A stream that is removed is forgotten: an identifier
/// below the highest so far that is not in the table is that of a closed stream (RFC 9113 §5.1.1).
struct StreamTable: Sendable {
    /// The streams. A place that is free has the identifier 0.
    private var places: [Stream] = []
    private var freePlaces: [Int] = []
    /// The index: the place of a stream plus one, or 0.
    private var index: [UInt32] = Array(repeating: 0, count: 16)

    /// The number of streams.
    private(set) var count = 0

    /// The stream in a place.
    subscript(place: Int) -> Stream {
        _read { yield places[place] }
        _modify { yield &places[place] }
    }

    /// The places of all streams.
    var occupied: [Int] { places.indices.filter { places[$0].id != .connection } }

    /// Returns the place of a stream, or nil if it is not in the table.
    @inline(__always)
    func place(of id: StreamID) -> Int? {
        let mask = index.count - 1
        var slot = Int(id.rawValue >> 1) & mask
        while true {
            let entry = index[slot]
            if entry == 0 { return nil }
            if places[Int(entry) - 1].id == id { return Int(entry) - 1 }
            slot = (slot + 1) & mask
        }
    }

    /// Adds a stream and returns its place.
    mutating func insert(_ stream: consuming Stream) -> Int {
        if (count + 1) * 2 > index.count { resizeIndex() }
        count += 1
        let place: Int
        if let free = freePlaces.popLast() {
            // The memory of the stream before serves this one.
            swap(&places[free].body, &stream.body)
            place = free
            places[place] = stream
        } else {
            place = places.count
            places.append(stream)
        }
        enter(place)
        return place
    }

    /// Removes the stream in a place.
    mutating func remove(_ place: Int) {
        let mask = index.count - 1
        var hole = Int(places[place].id.rawValue >> 1) & mask
        while index[hole] != UInt32(place + 1) { hole = (hole + 1) & mask }
        // Later entries of the same run move forward, unless that would put them before their own slot.
        var slot = hole
        while true {
            slot = (slot + 1) & mask
            guard index[slot] != 0 else { break }
            let wanted = Int(places[Int(index[slot]) - 1].id.rawValue >> 1) & mask
            if (slot - wanted) & mask >= (slot - hole) & mask {
                index[hole] = index[slot]
                hole = slot
            }
        }
        index[hole] = 0
        var body = BodyRing()
        swap(&body, &places[place].body)
        body.removeAll()
        places[place] = .free
        places[place].body = body
        freePlaces.append(place)
        count -= 1
    }

    private mutating func enter(_ place: Int) {
        let mask = index.count - 1
        var slot = Int(places[place].id.rawValue >> 1) & mask
        while index[slot] != 0 { slot = (slot + 1) & mask }
        index[slot] = UInt32(place + 1)
    }

    private mutating func resizeIndex() {
        index = Array(repeating: 0, count: index.count * 2)
        for place in occupied { enter(place) }
    }
}

/// A stream: its state, its windows, and what is known of the two messages on it.
struct Stream: Sendable {
    let id: StreamID
    var state: StreamState
    var receiveWindow: ReceiveWindow
    var sendWindow: SendWindow
    var body = BodyRing()
    /// The progress of the message that the peer sends.
    var incoming: IncomingMessage
    /// The progress of the message that this side sends.
    var outgoing: OutgoingMessage
    var priority = HTTP2Priority()
    /// Why the stream ended before its messages did.
    var failure: HTTP2StreamFailure?
    /// Whether the program was told that there is something to read, and has not read everything since.
    var isReadableReported = false
    /// The method is HEAD, so that the response has no content whatever its fields say.
    var isHead = false
    /// The method is CONNECT. A successful response opens a tunnel.
    var isConnect = false
    /// When the last byte arrived that the peer owes, or the window was given that it needs.
    var lastArrival: Duration = .zero
    /// Since when the program wants to send and the peer gives no credit.
    var blockedSince: Duration?
    /// Whether the stream waits for a larger window.
    var hold = Hold.none
    /// When a half of the receive window was given back last.
    var lastCredit: Duration?

    /// What a free place of the table contains.
    static let free = Stream(
        id: .connection, state: .idle, receiveWindow: ReceiveWindow(size: 0), sendWindow: SendWindow(size: 0),
        incoming: .ended, outgoing: .ended)
}

/// Whether a stream whose window is nearly exhausted waits for credit instead of sending a small frame.
enum Hold: Sendable {
    case none
    case waiting
    /// No credit came in time: a small frame is better than none.
    case released
}

/// The progress of a received message (RFC 9113 §8.1).
enum IncomingMessage: Hashable, Sendable {
    /// A response: its head is expected, after this many interim responses.
    case head(interimCount: Int)
    /// Content is expected, of this many more bytes if the message says so; then the end or trailers.
    case content(remaining: Int64?)
    /// The bytes of a tunnel (RFC 9113 §8.5).
    case tunnel
    /// The message is complete, or the rest is not wanted.
    case ended
}

/// The progress of a message that is sent (RFC 9113 §8.1).
enum OutgoingMessage: Hashable, Sendable {
    /// A server has not sent the head of the final response.
    case head
    /// Content may be sent, of this many more bytes if the head says so.
    case content(remaining: Int64?)
    /// The bytes of a tunnel.
    case tunnel
    /// The message is complete, or the peer does not want the rest.
    case ended
}
