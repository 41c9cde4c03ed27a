/// The WebSocket protocol after the handshake (RFC 6455 §5–§7, RFC 7692), without I/O.
///
/// Clients and servers use the same machine. Received bytes go in, ``Event``s come out one at a time; messages go in, bytes to
/// send come out. The machine reads no clock. Its only source of randomness is the generator of masking keys.
///
/// ```swift
/// var client = WebSocketMachine(.client)
/// var server = WebSocketMachine(.server)
/// try client.send(.text("hello"))
/// server.receive(client.takeOutput())
/// try server.nextEvent()  // .message(.text("hello"))
/// ```
///
/// Theory of operation. Frames are consumed as they arrive: the payload of a data frame is unmasked, decompressed and checked
/// piece by piece and moved to the message, so that invalid text fails before the frame has ended, and no more than one message
/// and the bytes of the last ``receive(_:)`` are held. ``nextEvent()`` stops at each event, so that a driver that stops calling
/// it limits the memory, whatever the peer sends. Pings are answered and Close frames are returned by the machine itself.
///
/// After an error, the machine has failed: ``takeOutput()`` returns the Close frame that reports the error to the peer, and the
/// driver then closes the connection.
public struct WebSocketMachine: Sendable {
    /// The side that uses the machine.
    public enum Role: Hashable, Sendable, CaseIterable {
        /// The side that connected: it masks its frames.
        case client
        /// The side that accepted the connection.
        case server
    }

    /// The states of the connection.
    public enum State: Hashable, Sendable, CaseIterable {
        /// Messages can be sent and received.
        case open
        /// A Close frame was sent. Messages can be received until the peer returns it.
        case closing
        /// Both sides have sent a Close frame.
        case closed
        /// The peer has violated the protocol, or the connection was lost.
        case failed
    }

    /// What the peer has sent.
    public enum Event: Hashable, Sendable {
        /// A complete message.
        case message(WebSocketMessage)
        /// A ping, whose answer is part of the output.
        case ping([UInt8])
        /// A pong, which answers a ping or was sent without one.
        case pong([UInt8])
        /// A Close frame. If it is the first one of the connection, the answer is part of the output.
        case close(WebSocketClosure)
    }

    /// A data message whose frames are arriving.
    private struct Incoming {
        let isText: Bool
        let isCompressed: Bool
        var bytes: [UInt8] = []
        var fragments = 0
        var validator = UTF8Validator()
    }

    /// A frame whose payload is arriving.
    private struct Underway {
        let frame: WebSocketFrame
        var position = 0
    }

    /// The most bytes of answers to pings that wait to be sent. Beyond it, only the most recent ping is answered (RFC 6455 §5.5.3).
    static let maximumAnswersLength = 16 * 1024

    /// The state of the connection.
    public private(set) var state = State.open

    private let role: Role
    private let limits: WebSocketLimits
    private var random: any RandomNumberGenerator & Sendable
    private var deflater: MessageDeflater?
    private var inflater: MessageInflater?

    /// The bytes received that have not been consumed, from `position` on.
    private var input: [UInt8] = []
    private var position = 0
    private var underway: Underway?
    private var control: [UInt8] = []
    private var incoming: Incoming?

    private var output: [UInt8] = []
    /// The payload of the most recent ping, if its answer did not fit into the output.
    private var lateAnswer: [UInt8]?

    /// Makes the machine of one connection.
    ///
    /// - Parameters:
    ///   - role: The side that uses the machine.
    ///   - limits: The limits for what the peer sends.
    ///   - compression: The agreed compression; nil for none.
    ///   - random: The generator of masking keys. They must be unpredictable (RFC 6455 §10.3); use another generator only in tests.
    public init(
        _ role: Role, limits: WebSocketLimits = WebSocketLimits(),
        compression: WebSocketCompressionAgreement? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.role = role
        self.limits = limits
        self.random = random
        deflater = compression.map { MessageDeflater($0) }
        inflater = compression.map { MessageInflater($0) }
    }
}

// MARK: - Receiving

extension WebSocketMachine {
    /// Adds received bytes, which ``nextEvent()`` consumes. Call ``nextEvent()`` until it returns nil before the next call.
    public mutating func receive(_ bytes: some Collection<UInt8>) {
        if state == .closed || state == .failed { return }
        input.append(contentsOf: bytes)
    }

    /// Returns the next event; nil if more bytes are needed.
    ///
    /// - Throws: An error if the peer violates the protocol or a limit. ``takeOutput()`` then contains the Close frame.
    public mutating func nextEvent() throws(WebSocketError) -> Event? {
        do throws(WebSocketError) {
            while state == .open || state == .closing {
                if underway == nil, try !beginFrame() { break }
                if let event = try receivePayload() { return event }
                if underway != nil { break }
            }
        } catch {
            fail(error)
            throw error
        }
        trimInput()
        return nil
    }

    /// Reports the end of the connection.
    ///
    /// - Throws: ``WebSocketError/Code/connectionLost`` if the closing handshake is not complete.
    public mutating func receiveEnd() throws(WebSocketError) {
        guard state == .open || state == .closing else { return }
        state = .failed
        dropInput()
        throw .lost
    }

    /// Parses the next header. Returns false if more bytes are needed.
    private mutating func beginFrame() throws(WebSocketError) -> Bool {
        guard let (frame, count) = try parseHeader() else { return false }
        position += count
        switch frame.opcode {
        case .continuation: try continueMessage(frame)
        case .text, .binary: try beginMessage(frame)
        case .close, .ping, .pong: control.removeAll(keepingCapacity: true)
        }
        underway = Underway(frame: frame)
        return true
    }

    private func parseHeader() throws(WebSocketError) -> (WebSocketFrame, Int)? {
        try WebSocketFrame.parse(
            input.span.bytes.extracting(droppingFirst: position), isMasked: role == .server,
            permitsCompression: inflater != nil, limit: limits.frameLength)
    }

    private mutating func beginMessage(_ frame: WebSocketFrame) throws(WebSocketError) {
        guard incoming == nil else { throw .protocolError("a message begins within another one") }
        incoming = Incoming(isText: frame.opcode == .text, isCompressed: frame.isCompressed)
        try continueMessage(frame)
    }

    private mutating func continueMessage(_ frame: WebSocketFrame) throws(WebSocketError) {
        guard let incoming else { throw .protocolError("a continuation frame has no message") }
        guard incoming.fragments < limits.fragmentCount else {
            throw .tooLong("a message of more frames than allowed", limit: limits.fragmentCount)
        }
        if !incoming.isCompressed, frame.length > limits.messageLength - incoming.bytes.count {
            throw .tooLong(
                "a message of at least \(incoming.bytes.count + frame.length) bytes", limit: limits.messageLength)
        }
        self.incoming?.fragments += 1
    }

    /// Consumes payload of the frame. Returns the event that it completes, if any.
    private mutating func receivePayload() throws(WebSocketError) -> Event? {
        guard let (frame, start) = underway.map({ ($0.frame, $0.position) }) else { return nil }
        let count = min(frame.length - start, input.count - position)
        let range = position..<position + count
        position += count
        let isComplete = start + count == frame.length
        if isComplete { underway = nil } else { underway?.position += count }
        if frame.opcode.isControl {
            let old = control.count
            control.append(contentsOf: input[range])
            frame.mask?.apply(to: &control, from: old, at: start)
            return isComplete ? try receiveControl(frame.opcode) : nil
        }
        if count > 0 { try receiveData(range, frame, at: start) }
        return isComplete && frame.isFinal ? try endMessage() : nil
    }

    /// Moves payload of a data frame into the message.
    private mutating func receiveData(
        _ range: Range<Int>, _ frame: WebSocketFrame, at start: Int
    ) throws(WebSocketError) {
        guard var message = incoming.take() else { return }
        let old = message.bytes.count
        if message.isCompressed {
            var piece = Array(input[range])
            frame.mask?.apply(to: &piece, from: 0, at: start)
            let limit = limits.messageLength
            try inflater?.decompress(piece, into: &message.bytes, limit: limit)
        } else {
            // The length is known, but a peer that announces it must also send it before memory is taken for it.
            if old == 0, frame.isFinal, frame.length <= 65536 { message.bytes.reserveCapacity(frame.length) }
            message.bytes.append(contentsOf: input[range])
            frame.mask?.apply(to: &message.bytes, from: old, at: start)
        }
        if message.isText, !message.validator.check(message.bytes, from: old) { throw .invalidText("a text message") }
        incoming = message
    }

    private mutating func endMessage() throws(WebSocketError) -> Event? {
        guard var message = incoming.take() else { return nil }
        if message.isCompressed {
            let old = message.bytes.count
            let limit = limits.messageLength
            try inflater?.finish(into: &message.bytes, limit: limit)
            if message.isText, !message.validator.check(message.bytes, from: old) {
                throw .invalidText("a text message")
            }
        }
        guard message.isText else { return .message(.binary(message.bytes)) }
        guard message.validator.isComplete else { throw .invalidText("a text message") }
        return .message(.text(String(decoding: message.bytes, as: UTF8.self)))
    }

    private mutating func receiveControl(_ opcode: WebSocketFrame.Opcode) throws(WebSocketError) -> Event? {
        switch opcode {
        case .ping:
            if state == .open { answer(control) }
            return .ping(control)
        case .pong:
            return .pong(control)
        case .close:
            let closure = try WebSocketClosure(payload: control)
            // The answer repeats the code (RFC 6455 §5.5.1).
            if state == .open { write(.close, Array(control.prefix(2))) }
            state = .closed
            dropInput()
            return .close(closure)
        case .continuation, .text, .binary:
            return nil
        }
    }

    /// Removes the consumed bytes.
    private mutating func trimInput() {
        if position == input.count {
            input.removeAll(keepingCapacity: true)
        } else {
            input.removeSubrange(..<position)
        }
        position = 0
    }

    private mutating func dropInput() {
        (input, position, underway, incoming, control) = ([], 0, nil, nil, [])
    }

    /// Fails the connection (RFC 6455 §7.1.7).
    private mutating func fail(_ error: WebSocketError) {
        if state == .open, let code = error.closeCode { write(.close, WebSocketClosure(code: code).payload) }
        state = .failed
        dropInput()
    }
}

// MARK: - Sending

extension WebSocketMachine {
    /// Adds a message to the output.
    ///
    /// - Throws: ``WebSocketError/Code/closed`` after a Close frame was sent or received, or after an error.
    public mutating func send(_ message: WebSocketMessage) throws(WebSocketError) {
        guard state == .open else { throw .closed }
        let opcode: WebSocketFrame.Opcode
        switch message {
        case .text: opcode = .text
        case .binary: opcode = .binary
        }
        let bytes = message.bytes
        if let compressed = deflater?.compress(bytes) {
            write(opcode, compressed, isCompressed: true)
        } else {
            write(opcode, bytes)
        }
    }

    /// Adds a ping to the output. The peer returns its payload in a pong.
    ///
    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a payload of more than 125 bytes; ``WebSocketError/Code/closed``.
    public mutating func ping(_ payload: [UInt8] = []) throws(WebSocketError) {
        try sendControl(.ping, payload)
    }

    /// Adds a pong that answers no ping to the output, as a sign of life (RFC 6455 §5.5.3).
    ///
    /// - Throws: As ``ping(_:)``.
    public mutating func pong(_ payload: [UInt8] = []) throws(WebSocketError) {
        try sendControl(.pong, payload)
    }

    private mutating func sendControl(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) throws(WebSocketError) {
        guard payload.count <= WebSocketFrame.maximumControlPayloadLength else {
            throw .invalidArgument("The payload of a control frame has at most 125 bytes.")
        }
        guard state == .open else { throw .closed }
        write(opcode, payload)
    }

    /// Adds a Close frame to the output. Messages can still be received until the peer returns it.
    ///
    /// - Parameter closure: The code and the reason; ``WebSocketCloseCode/noStatusReceived`` sends neither.
    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a code that must not be sent and for a reason of more than 123 bytes;
    ///   ``WebSocketError/Code/closed``.
    public mutating func close(_ closure: WebSocketClosure) throws(WebSocketError) {
        guard closure.code.isSendable || closure.code == .noStatusReceived else {
            throw .invalidArgument("The close code \(closure.code) must not be sent.")
        }
        guard closure.reason.utf8.count <= WebSocketClosure.maximumReasonLength else {
            throw .invalidArgument("The reason of a Close frame has at most 123 bytes.")
        }
        guard closure.code != .noStatusReceived || closure.reason.isEmpty else {
            throw .invalidArgument("A reason needs a close code.")
        }
        guard state == .open else { throw .closed }
        write(.close, closure.payload)
        state = .closing
    }

    /// Whether there are bytes to send.
    public var hasOutput: Bool { !output.isEmpty || lateAnswer != nil }

    /// Returns the bytes to send, and removes them from the output.
    public mutating func takeOutput() -> [UInt8] {
        if let payload = lateAnswer.take(), state == .open { write(.pong, payload) }
        defer { output = [] }
        return output
    }

    private mutating func answer(_ payload: [UInt8]) {
        if lateAnswer != nil || output.count + payload.count > WebSocketMachine.maximumAnswersLength {
            lateAnswer = payload
        } else {
            write(.pong, payload)
        }
    }

    private mutating func write(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8], isCompressed: Bool = false) {
        var frame = WebSocketFrame(
            opcode: opcode, isFinal: true, isCompressed: isCompressed, length: payload.count)
        if role == .client { frame.mask = WebSocketMask(random.next()) }
        frame.write(payload, into: &output)
    }
}
