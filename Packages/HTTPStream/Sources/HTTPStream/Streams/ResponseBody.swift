internal import HTTPMessage
internal import StreamKit

/// The body of a response: its framing and its content coding.
///
/// It takes bytes out of a connection's buffer, which the exchange fills. Its failures are those of the server that sends it.
struct ResponseBody: ~Copyable, Sendable {
    /// The cost of one call of the decoder in a turn's budget, in addition to the bytes it consumes.
    private static let decodeCost = 64

    /// Empty until the response begins.
    private var decoder = BodyDecoder(.none)
    /// Nil for a body that is delivered as the server encoded it.
    private var content: ContentDecoder?

    /// Begins the body of a response.
    mutating func begin(_ framing: BodyFraming, limits: HTTPLimits) {
        decoder = BodyDecoder(framing, limits: limits, leniency: .client)
    }

    /// Decodes the body if the response declares a known content coding.
    mutating func decodeContent(of response: HTTPResponse, limit: Int64) {
        content = ContentDecoder(for: response, limit: limit)
    }

    /// Whether the body is decoded.
    var isCoded: Bool { content != nil }

    /// Whether all bytes of the body have been taken out of the buffer.
    var isComplete: Bool { decoder.isComplete }

    /// The number of payload bytes that are known to follow.
    var expectedPayloadCount: Int64 { decoder.expectedPayloadCount }

    var trailers: HTTPFields { decoder.trailers }
    var droppedTrailers: HTTPFields { decoder.droppedTrailers }

    /// Whether the end of the body can be found without the end of the connection.
    var endsByItself: Bool { decoder.framing.endsByItself }

    /// The length of the body as read, if the head declares it; nil otherwise.
    var length: Int64? {
        switch decoder.framing {
        case .none: 0
        case .length(let length): content == nil ? length : nil
        case .chunked, .untilClose, .tunnel: nil
        }
    }

    // MARK: Framing

    /// Returns the next event of the framing, and removes the framing's own bytes before it.
    mutating func next(
        in buffer: inout ReceiveBuffer, upTo limit: Int
    ) throws(CarrierFailure) -> BodyDecoder.Event {
        var used = 0
        let event: BodyDecoder.Event
        do throws(HTTPMessageError) {
            event = try buffer.withBytes { (bytes) throws(HTTPMessageError) in
                try decoder.next(in: bytes, at: &used, upTo: limit)
            }
        } catch {
            throw CarrierFailure(error)
        }
        if case .payload = event { return event }
        buffer.remove(used)
        return event
    }

    /// Counts payload that was received without the buffer, or decoded.
    mutating func advance(_ count: Int) throws(CarrierFailure) {
        do throws(HTTPMessageError) {
            try decoder.receivePayload(count)
        } catch {
            throw CarrierFailure(error)
        }
    }

    /// Handles the end of the connection.
    ///
    /// - Throws: an error if it is not the proper end of the body.
    mutating func receiveEnd() throws(CarrierFailure) {
        do throws(HTTPMessageError) {
            try decoder.receiveEnd()
        } catch {
            throw CarrierFailure(error)
        }
    }

    // MARK: Content coding

    /// Whether decoded bytes are available.
    var hasDecodedBytes: Bool { content?.hasBytes == true }

    /// Decodes some of the buffered payload. Returns its cost in the turn's budget.
    mutating func decode(_ available: Int, from buffer: inout ReceiveBuffer) throws(CarrierFailure) -> Int {
        let step: (consumed: Int, cost: Int)
        do throws(StreamError) {
            step = try buffer.withBytes { (bytes) throws(StreamError) in
                try content?.decode(bytes.extracting(..<available)) ?? (0, 0)
            }
        } catch {
            throw CarrierFailure(error, of: .server)
        }
        buffer.remove(step.consumed)
        try advance(step.consumed)
        return step.cost + ResponseBody.decodeCost
    }

    /// Moves decoded bytes into `target`. Returns their number.
    mutating func readDecoded(into target: inout MutableRawSpan) -> Int { content?.read(into: &target) ?? 0 }

    /// Makes one step to the end of the coded data; see ``ContentDecoder/finish()``. Returns its cost in the turn's budget; nil at the end.
    mutating func finishDecoding() throws(CarrierFailure) -> Int? {
        do throws(StreamError) {
            return try content?.finish().map { $0 + ResponseBody.decodeCost }
        } catch {
            throw CarrierFailure(error, of: .server)
        }
    }
}

extension BodyFraming {
    /// Whether the end of the body can be found without the end of the connection.
    var endsByItself: Bool {
        switch self {
        case .none, .length, .chunked: true
        case .untilClose, .tunnel: false
        }
    }
}
