internal import HPACK
internal import HTTPMessage

/// A header block that has begun: HEADERS and its CONTINUATION frames (RFC 9113 §4.3).
struct HeaderBlock: Sendable, BitwiseCopyable {
    let stream: StreamID
    /// Whether the HEADERS frame has END_STREAM.
    let endsStream: Bool
    let purpose: Purpose
    let startedAt: Duration
    var continuationCount = 0
    /// Whether the current frame has END_HEADERS.
    var endsHeaders: Bool
    /// The bytes of the current frame's content that have not arrived.
    var remaining: Int

    /// What happens with the fields. They are decoded in any case: the blocks after them refer to the dynamic table.
    enum Purpose: Sendable, BitwiseCopyable {
        case request
        case response
        case trailers
        /// The stream is closed, and the peer did not know when it sent the frame.
        case discard
        /// The stream ends with an error.
        case refusal(Refusal)

        /// Whether the fields are those of a message.
        var isMessage: Bool {
            switch self {
            case .request, .response, .trailers: true
            case .discard, .refusal: false
            }
        }
    }

    /// Why a stream ends whatever its fields are.
    enum Refusal: Sendable, BitwiseCopyable {
        case dependsOnItself
        case tooManyStreams
        /// The client keeps its limit, and the program has not closed as many streams that both sides have ended.
        case tooManyHeldStreams
        case messageHasEnded(ErrorCode)

        func error(on stream: StreamID) -> HTTP2Error {
            switch self {
            case .dependsOnItself:
                .stream(stream, .protocolError, "RFC 7540 §5.3.1", "stream \(stream) depends on itself")
            case .tooManyStreams, .tooManyHeldStreams:
                .stream(
                    stream, .refusedStream, "RFC 9113 §5.1.2",
                    "there are as many streams already as maximumConcurrentStreams")
            case .messageHasEnded(let code):
                .stream(stream, code, "RFC 9113 §5.1", "HEADERS after the end of the message")
            }
        }
    }
}

// MARK: - Header blocks (RFC 9113 §4.3, §6.2, §6.10)

extension HTTP2Connection {
    mutating func beginHeaders(_ start: FrameStart) throws(HTTP2Error) {
        let header = start.header
        var purpose = try admitHeaders(header)
        if let dependency = start.dependency, dependency.stream == header.stream, purpose.isMessage {
            purpose = .refusal(.dependsOnItself)
        }
        block = HeaderBlock(
            stream: header.stream, endsStream: header.endsStream, purpose: purpose, startedAt: now,
            endsHeaders: header.endsHeaders, remaining: start.contentLength)
        fields.removeAll()
        if start.contentLength == 0 { try receiveEmptyFrame(endsHeaders: header.endsHeaders) }
    }

    mutating func beginContinuation(_ start: FrameStart) throws(HTTP2Error) {
        block?.continuationCount += 1
        block?.endsHeaders = start.header.endsHeaders
        block?.remaining = start.contentLength
        if let count = block?.continuationCount, count > limits.maximumContinuations {
            throw .connection(
                .enhanceYourCalm, "fieldSection",
                "a header block of more than \(limits.maximumContinuations) CONTINUATION frames")
        }
        if start.contentLength == 0 { try receiveEmptyFrame(endsHeaders: start.header.endsHeaders) }
    }

    /// A frame of the block that has no content: it can only end the block.
    private mutating func receiveEmptyFrame(endsHeaders: Bool) throws(HTTP2Error) {
        if endsHeaders { try decode(RawSpan()) } else { try floods.countEmptyFrame(now: now) }
    }

    /// Decodes a piece of the block as it arrives. What exceeds a limit is dropped while it is decoded.
    mutating func decode(_ piece: RawSpan) throws(HTTP2Error) {
        guard let block else { return }
        let isLast = block.endsHeaders && piece.byteCount == block.remaining
        self.block?.remaining -= piece.byteCount
        do throws(HPACKError) {
            try decoder.decode(piece, isLast: isLast, into: &fields)
        } catch {
            throw Self.blockError(error)
        }
    }

    private static func blockError(_ error: HPACKError) -> HTTP2Error {
        if error.code == .listTooLarge {
            return .connection(.enhanceYourCalm, "fieldSection", "a list of fields far beyond the limits")
        }
        return .connection(.compressionError, error.rule, "\(error)")
    }

    mutating func endHeadersFrame() throws(HTTP2Error) {
        guard let block, block.endsHeaders else { return }
        self.block = nil
        switch block.purpose {
        case .discard: break
        case .refusal(.tooManyHeldStreams): try refuseWithoutFault(block.stream)
        // The client cannot know the limit yet (RFC 9113 §5.1.2).
        case .refusal(.tooManyStreams) where settingsSentAt != nil: try refuseWithoutFault(block.stream)
        case .refusal(let refusal): try resetStream(block.stream, because: refusal.error(on: block.stream))
        case .request: try receiveRequest(block)
        case .response, .trailers:
            // The program may have closed the stream while the block arrived.
            guard let index = streams.index(of: block.stream), streams[index].state != .closed else { return }
            if case .response = block.purpose {
                try receiveResponse(block, index)
            } else {
                try receiveTrailers(block, index)
            }
        }
    }

    /// Decides what a HEADERS frame means for its stream (RFC 9113 §5.1 and §5.1.1).
    private mutating func admitHeaders(_ header: FrameHeader) throws(HTTP2Error) -> HeaderBlock.Purpose {
        let stream = header.stream
        let event: StreamState.Event = header.endsStream ? .headersEnd : .headers
        let index = streams.index(of: stream)
        let state = state(of: stream, at: index)
        if state == .closed {
            if recentStreams.wasResetHere(stream) || isIgnored(stream) {
                try floods.countFrameWithoutEffect(now: now)
                return .discard
            }
            if index == nil, !recentStreams.contains(stream) {
                // A client has forgotten when it reset the stream, and the server has not seen it (RFC 9113 §5.1).
                if role == .client, stream.isClientInitiated {
                    try floods.countFrameWithoutEffect(now: now)
                    return .discard
                }
                throw .connection(
                    .protocolError, "RFC 9113 §5.1.1", "stream \(stream) is below another one, and not open")
            }
        }
        switch state.transition(event, .receive) {
        case .connectionError(let code): throw Self.stateError(code, .headers, stream, state)
        case .streamError(let code): return .refusal(.messageHasEnded(code))
        case .to, .ignore, .forbidden: break
        }
        guard let index else { return try acceptStream(stream) }
        if case .head = streams[index].incoming { return .response }
        return .trailers
    }

    private mutating func acceptStream(_ stream: StreamID) throws(HTTP2Error) -> HeaderBlock.Purpose {
        guard role == .server, stream.isClientInitiated else {
            throw .connection(
                .protocolError, "RFC 9113 §5.1.1", "HEADERS on stream \(stream), which the peer cannot open")
        }
        highestPeerStream = stream
        if isIgnored(stream) {
            try floods.countFrameWithoutEffect(now: now)
            return .discard
        }
        if streams.count < limits.maximumConcurrentStreams { return .request }
        return refusal.map { .refusal($0) } ?? .request
    }

    /// Whether a stream is above the last one of this side's GOAWAY, so that all its frames are ignored (RFC 9113 §6.8).
    func isIgnored(_ stream: StreamID) -> Bool {
        if case .final(let last) = shutdown { role == .server && stream > last } else { false }
    }
}

// MARK: - Messages (RFC 9113 §8.1)

extension HTTP2Connection {
    /// Receives a request, which opens its stream.
    private mutating func receiveRequest(_ block: HeaderBlock) throws(HTTP2Error) {
        try requireRoomForAnswer()
        let id = block.stream
        if fields.droppedCount > 0 { return try refuseLargeRequest(block) }
        var traits = HeadReader.RequestTraits()
        guard var request = try readRequest(id, &traits) else { return }
        if let earlyPriority, earlyPriority.stream == id { request.priority = earlyPriority.priority }
        let index = open(
            id, incoming: traits.kind == .connect ? .tunnel : .content(remaining: traits.contentLength), outgoing: .head
        )
        streams[index].setRequest(traits.kind, request.priority)
        events.append(.request(id, consume request))
        if block.endsStream { try receiveEndStream(index, .headersEnd) }
    }

    /// Answers a request whose fields exceed the limits with 431 (RFC 6585 §5).
    private mutating func refuseLargeRequest(_ block: HeaderBlock) throws(HTTP2Error) {
        let frame = writer.beginHeaders(on: block.stream, ends: true)
        encoder.beginBlock(into: &writer.bytes)
        encoder.encode(.status, Self.largeHeadStatus.span.bytes, into: &writer.bytes)
        writer.endHeaders(frame, on: block.stream)
        if block.endsStream { return try floods.countReset(now: now) }
        try resetStream(
            block.stream,
            because: .stream(block.stream, .noError, "fieldSection", "the fields of the request exceed the limits"))
    }

    private static let largeHeadStatus = Array("431".utf8)

    /// Receives the head of an interim or final response.
    private mutating func receiveResponse(_ block: HeaderBlock, _ index: Int) throws(HTTP2Error) {
        let id = block.stream
        if fields.droppedCount > 0 {
            return try resetStream(
                id,
                because: .stream(id, .enhanceYourCalm, "fieldSection", "the fields of the response exceed the limits"))
        }
        var contentLength: Int64?
        guard let response = try readResponse(id, &contentLength) else { return }
        let status = response.status.code
        guard status >= 200 else { return try receiveInterim(response, block, index) }
        if streams[index].requestKind == .connect, status < 300 {
            streams[index].incoming = .tunnel
            if !streams[index].outgoing.hasEnded { streams[index].outgoing = .tunnel }
        } else if streams[index].requestKind == .head || status == 204 || status == 304 {
            // The length describes what GET would get (RFC 9110 §9.3.2).
            streams[index].incoming = .noContent
        } else {
            streams[index].incoming = .content(remaining: contentLength)
        }
        events.append(.response(id, consume response))
        if block.endsStream { try receiveEndStream(index, .headersEnd) }
    }

    private mutating func receiveInterim(
        _ response: HTTPResponse, _ block: HeaderBlock, _ index: Int
    ) throws(HTTP2Error) {
        let id = block.stream
        guard case .head(var interims) = streams[index].incoming, !block.endsStream else {
            return try resetStream(
                id, because: .stream(id, .protocolError, "RFC 9113 §8.1", "an interim response ends the stream"))
        }
        guard interims.count < limits.maximumInterimResponses else {
            return try resetStream(
                id, because: .stream(id, .enhanceYourCalm, "maximumInterimResponses", "too many interim responses"))
        }
        interims.count += 1
        interims.listSize += fields.listSize
        // The program may not have taken any of them: together, they are kept within the limit on one list.
        guard interims.listSize <= limits.fieldSection.listSize else {
            return try resetStream(
                id,
                because: .stream(
                    id, .enhanceYourCalm, "fieldSection", "the fields of the interim responses exceed the limits"))
        }
        streams[index].incoming = .head(after: interims)
        events.append(.interim(id, response))
    }

    /// Receives trailers, which must end the stream.
    private mutating func receiveTrailers(_ block: HeaderBlock, _ index: Int) throws(HTTP2Error) {
        let id = block.stream
        guard streams[index].incoming != .tunnel else {
            return try resetStream(id, because: .stream(id, .protocolError, "RFC 9113 §8.5", "HEADERS within a tunnel"))
        }
        guard block.endsStream else {
            return try resetStream(
                id, because: .stream(id, .protocolError, "RFC 9113 §8.1", "trailers do not end the stream"))
        }
        if fields.droppedCount > 0 {
            return try resetStream(
                id, because: .stream(id, .enhanceYourCalm, "fieldSection", "the trailers exceed the limits"))
        }
        guard let trailers = try readTrailers(id) else { return }
        if isContentComplete(index) { events.append(.trailers(id, trailers)) }
        try receiveEndStream(index, .headersEnd)
    }
}

// MARK: - Malformed messages (RFC 9113 §8.1.1)

// Each of these functions makes a message of the fields of the block. If it is malformed, they end the stream and return nil.
extension HTTP2Connection {
    private mutating func readRequest(
        _ id: StreamID, _ traits: inout HeadReader.RequestTraits
    ) throws(HTTP2Error) -> HTTP2Request? {
        do throws(FieldRule) {
            return try HeadReader.request(fields, allowsConnectProtocol: allowsConnectProtocol, &traits)
        } catch {
            try resetStream(id, because: error.error(on: id))
            return nil
        }
    }

    private mutating func readResponse(
        _ id: StreamID, _ contentLength: inout Int64?
    ) throws(HTTP2Error) -> HTTPResponse? {
        do throws(FieldRule) {
            return try HeadReader.response(fields, &contentLength)
        } catch {
            try resetStream(id, because: error.error(on: id))
            return nil
        }
    }

    private mutating func readTrailers(_ id: StreamID) throws(HTTP2Error) -> HTTPFields? {
        do throws(FieldRule) {
            return try HeadReader.trailers(fields)
        } catch {
            try resetStream(id, because: error.error(on: id))
            return nil
        }
    }
}
