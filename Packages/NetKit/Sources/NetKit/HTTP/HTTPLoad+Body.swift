internal import EventLoops
internal import HTTPMessage
internal import StreamKit

extension BodyFraming {
    /// The end of the body is known without the end of the connection.
    var endsByItself: Bool {
        switch self {
        case .none, .length, .chunked: true
        case .untilClose, .tunnel: false
        }
    }
}

/// The body of the answer.
extension HTTPLoad {
    /// Goes on to the body, and reads payload into `target`. Returns nil to be called again after the ``deferred`` actions.
    mutating func read(into target: inout MutableRawSpan) throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: nilIfFetching(try readBody(into: &target))
        case .blocked(let interest): .wouldBlock(interest)
        case .again: nil
        }
    }

    /// Returns what a read would, without reading. Returns nil to be called again after the ``deferred`` actions.
    mutating func peek() throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: nilIfFetching(try peekBody())
        case .blocked(let interest): .wouldBlock(interest)
        case .again: nil
        }
    }

    /// A wait for a fetch that this very step has requested ends as soon as the fetch has been performed.
    private func nilIfFetching(_ attempt: Attempt) -> Attempt? {
        if deferred.fetch != nil, case .wouldBlock = attempt { nil } else { attempt }
    }

    /// The connection, if all there is to do now is to wait for its input. Until the caller takes ``isConnectionLent``
    /// back, input and buffer are his: nobody else may look there.
    mutating func lendConnection() -> (connection: HTTPConnection, fills: Bool)? {
        guard let block, block.deadline == nil, block.reason == .connection(.readable), let connection else {
            return nil
        }
        isConnectionLent = true
        // Payload is read past the buffer.
        if case .receivingBody = phase, contentDecoder == nil, decoder.payloadAhead > 0 { return (connection, false) }
        return (connection, true)
    }

    private mutating func readBody(into target: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if contentDecoder == nil { return try readPayload(into: &target) }
        let attempt = try prepareDecoded()
        guard case .moved = attempt, let count = contentDecoder?.read(into: &target) else { return attempt }
        return .moved(count)
    }

    private mutating func peekBody() throws(StreamError) -> Attempt {
        if contentDecoder != nil { return try prepareDecoded() }
        while true {
            guard let connection, !decoder.isComplete else { return .ended }
            switch try nextPayload(connection, upTo: 0) {
            case .end, .payload:
                letGo()
                return .ended
            case .needMore where decoder.payloadAhead > 0 && !connection.buffer.isEmpty:
                return .moved(Int(min(decoder.payloadAhead, Int64(connection.buffer.count))))
            case .needMore:
                if let attempt = try fill(connection) { return attempt }
            }
        }
    }

    private mutating func readPayload(into target: inout MutableRawSpan) throws(StreamError) -> Attempt {
        while true {
            guard let connection, !decoder.isComplete else { return .ended }
            if connection.buffer.isEmpty, decoder.payloadAhead > 0, target.byteCount >= 1024 {
                if let attempt = try receivePayload(connection, into: &target) { return attempt }
                continue
            }
            switch try nextPayload(connection, upTo: target.byteCount) {
            case .payload(let range):
                connection.buffer.copy(range, into: &target)
                connection.buffer.remove(range.upperBound)
                if decoder.isComplete { letGo() }
                return .moved(range.count)
            case .end:
                letGo()
                return .ended
            case .needMore:
                if let attempt = try fill(connection) { return attempt }
            }
        }
    }

    /// The next event of the framing; the framing's own bytes before it are used up.
    private mutating func nextPayload(
        _ connection: HTTPConnection, upTo limit: Int
    ) throws(StreamError) -> BodyDecoder.Event {
        var used = 0
        let event: BodyDecoder.Event
        do throws(HTTPMessageError) {
            event = try connection.buffer.withBytes { (bytes) throws(HTTPMessageError) in
                try decoder.next(in: bytes, at: &used, upTo: limit)
            }
        } catch {
            throw StreamError(error)
        }
        if case .payload = event { return event }
        connection.buffer.remove(used)
        return event
    }

    /// Reads payload straight into the caller's memory; nil: look again.
    private mutating func receivePayload(
        _ connection: HTTPConnection, into target: inout MutableRawSpan
    ) throws(StreamError) -> Attempt? {
        let part = 0..<Int(min(decoder.payloadAhead, Int64(target.byteCount)))
        let read = try target.withPart(part) { (part) throws(StreamError) in
            try connection.pair.input.tryRead(into: &part)
        }
        // It may have stopped short of what came behind the body.
        connection.isDrained = false
        guard let count = read else { return try blocked() }
        if count == 0 { return try receiveEnd() }
        try advanceDecoder(count)
        if decoder.isComplete { letGo() }
        return .moved(count)
    }

    /// Reads into the buffer; nil: look again.
    private mutating func fill(_ connection: HTTPConnection) throws(StreamError) -> Attempt? {
        guard let count = try connection.fill() else { return try blocked() }
        return count == 0 ? try receiveEnd() : nil
    }

    private mutating func blocked() throws(StreamError) -> Attempt? {
        try interestWhileReceiving().map { .wouldBlock($0) }
    }

    private mutating func advanceDecoder(_ count: Int) throws(StreamError) {
        do throws(HTTPMessageError) {
            try decoder.receivePayload(count)
        } catch {
            throw StreamError(error)
        }
    }

    /// The connection has ended; nil if that was the body's proper end.
    private mutating func receiveEnd() throws(StreamError) -> Attempt? {
        do throws(HTTPMessageError) {
            try decoder.receiveEnd()
        } catch {
            throw StreamError(error)
        }
        if contentDecoder == nil { letGo() }
        return nil
    }

    // MARK: Decoded bodies

    /// Decodes until there is something to read, or the turn's budget is used up: a server can send any amount that decodes
    /// to nothing.
    private mutating func prepareDecoded() throws(StreamError) -> Attempt {
        var budget = HTTPLoad.turnBudget
        while true {
            if contentDecoder?.hasBytes == true { return .moved(1) }
            guard let connection, !decoder.isComplete else {
                try contentDecoder?.finish()
                if contentDecoder?.hasBytes == true { continue }
                letGo()
                return .ended
            }
            // The framing's own bytes first, then as much payload as is buffered, in one go.
            _ = try nextPayload(connection, upTo: 0)
            let ahead = Int(min(decoder.payloadAhead, Int64(connection.buffer.count)))
            if ahead > 0 {
                if budget <= 0 { return .wouldBlock(waiting(.turn)) }
                budget -= try decode(ahead, of: connection)
            } else if !decoder.isComplete, let attempt = try fill(connection) {
                return attempt
            }
        }
    }

    /// Decodes some of the buffered payload; gives what that counts against the turn's budget.
    private mutating func decode(_ available: Int, of connection: HTTPConnection) throws(StreamError) -> Int {
        let used = try connection.buffer.withBytes { (bytes) throws(StreamError) in
            try contentDecoder?.decode(bytes.extracting(..<available)) ?? 0
        }
        connection.buffer.remove(used)
        try advanceDecoder(used)
        return used + HTTPLoad.decodeCost
    }

    // MARK: Bodies of redirects

    /// Reads a redirect's body away, then goes on with the next request.
    mutating func discard() throws(StreamError) -> Interest? {
        let deadline = discardDeadline ?? .now + settings.discardLimit
        discardDeadline = deadline
        if settings.keepsConnection, decoder.framing.endsByItself, .now < deadline {
            var scrap = [UInt8](repeating: 0, count: 4096)
            var span = scrap.mutableSpan
            var bytes = span.mutableBytes
            do throws(StreamError) {
                while decoder.payloadCount < HTTPLoad.discardLimit, connection != nil {
                    let attempt = try readPayload(into: &bytes)
                    if case .wouldBlock(let interest) = attempt { return interest }
                    if case .ended = attempt { letGo() }
                }
            } catch {
                // The redirect is known; what became of its body does not matter.
            }
        }
        discardDeadline = nil
        try followHop()
        return nil
    }
}
