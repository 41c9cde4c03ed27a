internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Up to the body: sending, and the head of the answer.
extension HTTPLoad {
    /// The outcome of several steps.
    enum Progress {
        /// The load is as far as requested.
        case done
        /// The load has to wait; see ``block``.
        case blocked(Interest)
        /// The ``deferred`` actions have to be performed first: the next step may need what they give back or read.
        case again
    }

    /// Goes on until the request is on its way, or something must be waited for.
    mutating func begin() throws(StreamError) -> Progress {
        while !hasBegun {
            if let interest = try advance(), !hasBegun { return blockedUnlessFetching(interest) }
            if !deferred.isEmpty { return .again }
        }
        return .done
    }

    /// Goes on until the head of the final answer is there, or something must be waited for.
    @inline(__always)
    mutating func advanceToBody() throws(StreamError) -> Progress {
        while !isAtBody {
            if let interest = try advance() { return blockedUnlessFetching(interest) }
            if !deferred.isEmpty, !isAtBody { return .again }
        }
        return .done
    }

    /// A wait for a fetch that this very step has requested ends as soon as the fetch has been performed.
    private func blockedUnlessFetching(_ interest: Interest) -> Progress {
        deferred.fetch == nil ? .blocked(interest) : .again
    }

    private var isAtBody: Bool {
        switch phase {
        case .idle, .sending, .receivingHead, .discarding: false
        case .receivingBody, .done: true
        }
    }

    /// Takes a step; nil if another may follow.
    private mutating func advance() throws(StreamError) -> Interest? {
        switch phase {
        case .idle:
            if let interest = try awaitDecision() { return interest }
            try beginHop()
            return nil
        case .sending: return try send()
        case .receivingHead: return try receiveHead()
        case .discarding: return try discard()
        case .receivingBody, .done: return nil
        }
    }

    // MARK: Sending

    /// What sending on came to.
    private enum Sending {
        case done
        case awaitsLeave
        case blocked(Interest)
        /// The server has something to say: look before sending more.
        case answered
        case failed(StreamError)
    }

    private mutating func sendOn() throws(StreamError) -> Sending {
        guard let connection else { throw .closed }
        while true {
            guard let progress = try sender?.advance(connection.pair.output) else { throw .closed }
            if stall != nil, stall?.taken != sender?.taken { stall = nil }
            switch progress {
            case .done:
                stopSending()
                restartResponseClock()
                return .done
            case .awaitsLeave: return .awaitsLeave
            case .failed(let error): return hasAnswer ? .answered : .failed(error)
            case .sentPiece:
                restartResponseClock()
                if hasAnswer { return .answered }
            case .connectionBlocks:
                hasBlockedSending = true
                piecesInTurn = 0
                if hasAnswer { return .answered }
                try noteStall()
                return .blocked(waiting(.connection([.readable, .writable])))
            case .sourceBlocks:
                piecesInTurn = 0
                return hasAnswer ? .answered : .blocked(waiting(.source))
            case .needsFetch:
                if piecesInTurn == HTTPLoad.piecesPerTurn {
                    piecesInTurn = 0
                    return .blocked(waiting(.turn))
                }
                piecesInTurn += 1
                deferred.fetch = sender?.beginFetch()
                return .blocked(waiting(.fetch))
            case .isFetching:
                return hasAnswer ? .answered : .blocked(waiting(.fetch))
            }
        }
    }

    /// The connection takes nothing: throws if that has lasted for longer than one write may wait.
    private mutating func noteStall() throws(StreamError) {
        guard stall != nil || !settings.properties.isEmpty, let limit = settings.properties[.writeLimit], limit > .zero,
            let taken = sender?.taken
        else { return }
        guard let stall else { return self.stall = WriteStall(taken: taken, deadline: .now + limit) }
        if Moment.now >= stall.deadline { throw .timedOut(step, after: limit) }
    }

    /// True if reading from the connection would not wait.
    private var hasAnswer: Bool { connection?.pair.input.hasBytesAvailable == true }

    private mutating func send() throws(StreamError) -> Interest? {
        switch try sendOn() {
        case .blocked(let interest): return interest
        case .failed(let error): try retry(after: error)
        case .answered: phase = .receivingHead
        case .done:
            phase = .receivingHead
            // After a wait for the connection, the event that ended it may have been for an early response as well.
            hasJustSent = !hasBlockedSending
        case .awaitsLeave:
            phase = .receivingHead
            leaveDeadline = .now + settings.continueLimit
        }
        return nil
    }

    /// Nothing more can be read now: sends on if there is something to send. Nil if reading is worth another try.
    mutating func interestWhileReceiving() throws(StreamError) -> Interest? {
        if let leaveDeadline, Moment.now >= leaveDeadline { giveLeave() }
        guard sender?.isDone == false, sender?.isAwaitingLeave == false else {
            return waiting(.connection(.readable))
        }
        switch try sendOn() {
        case .done, .awaitsLeave: return waiting(.connection(.readable))
        case .blocked(let interest): return interest
        case .answered: return nil
        case .failed:
            stopSending()  // what was answered before counts
            return nil
        }
    }

    // MARK: Receiving

    private mutating func receiveHead() throws(StreamError) -> Interest? {
        guard let connection else { throw .closed }
        while true {
            if !connection.buffer.isEmpty {
                hasReceived = true
                if try parseHead(connection) { return nil }
            }
            if hasJustSent {
                hasJustSent = false
                return waiting(.connection(.readable))
            }
            let count: Int?
            do throws(StreamError) {
                count = try connection.fill()
            } catch {
                try retry(after: error)
                return nil
            }
            switch count {
            case nil:
                if let interest = try interestWhileReceiving() { return interest }
            case 0?:
                try retry(
                    after: .connectionLost(hasReceived ? "in the middle of the head" : "without a response"))
                return nil
            default:
                break
            }
        }
    }

    /// Parses what is buffered; true if a head was dealt with, false for more bytes.
    private mutating func parseHead(_ connection: HTTPConnection) throws(StreamError) -> Bool {
        guard try connection.findHead() else { return false }
        try receive(connection.takeHead(from: url))
        return true
    }

    private mutating func receive(_ head: consuming HTTPResponse) throws(StreamError) {
        let code = head.status.code
        if code < 200, code != 101 { return try receiveInterim(consume head) }
        let framing: BodyFraming
        do throws(HTTPMessageError) {
            framing = try BodyFraming.of(head, to: method, leniency: .client)
        } catch {
            throw StreamError(error)
        }
        try refuseUnasked(head, framing)
        responseDeadline = nil
        leaveDeadline = nil
        log.answered(head, at: connection?.lastRead ?? .now)
        noteAnsweringProxy()
        decoder = BodyDecoder(framing, limits: settings.limits, leniency: .client)
        isReusable = settings.keepsConnection && framing.endsByItself && head.isPersistent
        // Who refuses a large request may not have read it; squid 5.7 then never reads the next one.
        if code >= 400, bodyBytesSent > Int64(RequestSender.smallBody) { isReusable = false }
        response = consume head
        if try leadsOn() {
            stopSending()
            phase = .discarding
            return
        }
        // Who refuses a request does not want the rest of it (RFC 9112 §9.5).
        if code >= 300 || sender?.isAwaitingLeave == true { stopSending() }
        if settings.decodesContent, let response {
            contentDecoder = ContentDecoder(for: response, limit: settings.decodedLimit)
        }
        phase = .receivingBody
        if decoder.isComplete { letGo() }
    }

    /// A 1xx: the final answer follows (RFC 9110 §15.2). Only a 100 gives leave to send the body.
    private mutating func receiveInterim(_ head: consuming HTTPResponse) throws(StreamError) {
        let code = head.status.code
        interim.append(consume head)
        guard interim.count <= HTTPLimits.interimResponses else {
            throw .tooManyInterim(HTTPLimits.interimResponses)
        }
        if code == 100 { giveLeave() }
    }

    /// An answer in a form that only a request may choose, and a stream's never does: another protocol (RFC 9110 §15.2.2),
    /// or a coding of the transfer beside chunks (RFC 9112 §7.4), whose bytes would pass for the body.
    private func refuseUnasked(_ head: borrowing HTTPResponse, _ framing: BodyFraming) throws(StreamError) {
        if framing == .tunnel { throw .switchedProtocols(head.fields[.upgrade] ?? "another protocol") }
        guard framing == .chunked || framing == .untilClose, let coding = head.fields[.transferEncoding] else { return }
        let names = coding.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard names.allSatisfy({ $0 == "chunked" || $0 == "identity" }) else { throw .transferCoded(coding) }
    }
}

/// A request's bytes wait for room, within `StreamProperty.writeLimit`.
struct WriteStall: Sendable {
    /// How many bytes the connection had taken when it began.
    let taken: Int
    /// When it has lasted too long.
    let deadline: Moment
}
