/// An incremental parser for the responses to one request, up to the head of the final one.
///
/// It is for exchanges in which the head decides what the further bytes are. A 2xx to `CONNECT` is followed by the bytes of the tunnel, and
/// a client must ignore its framing fields (RFC 9110 §9.3.6). The parser therefore does not examine framing fields. ``BodyBeginning``
/// reads the body of another response up to a limit. For whole messages, see ``MessageParser``.
///
/// ```swift
/// var parser = FinalHeadParser(leniency: .client)
/// var head: HTTPResponse?
/// while head == nil { head = try parser.receive(connection.read()) }
/// buffer = parser.surplus
/// ```
///
/// The parser buffers at most one incomplete head and the bytes that arrived with it.
@_spi(Packages) public struct FinalHeadParser: Sendable {
    /// The received bytes behind the last complete head: the beginning of the next head, or what follows the final one. After an error, the
    /// bytes that were not parsed.
    public private(set) var surplus: [UInt8] = []

    private var parser: HeadParser
    private var interimCount = 0

    /// Creates a parser for the responses to one request.
    ///
    /// - Parameters:
    ///   - limits: The limits on the size of each head.
    ///   - leniency: The deviations that are accepted.
    public init(limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict) {
        parser = HeadParser(.response, limits: limits, leniency: leniency)
    }

    /// Parses received bytes, and skips interim responses: the final one follows them (RFC 9110 §15.2).
    ///
    /// - Parameter bytes: The next bytes of the connection.
    /// - Returns: The head of the final response or of a 101, which no other response follows; nil if more bytes are needed.
    /// - Throws: An error if the bytes are not a valid head or exceed a limit; ``HTTPMessageError/Code/tooManyInterimResponses`` for more
    ///   than ``HTTPLimits/interimResponses``; ``HTTPMessageError/Code/parserFinished`` after an error, and after the head was returned:
    ///   these bytes are not added to ``surplus``.
    public mutating func receive(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) -> HTTPResponse? {
        guard !parser.isFinished else { throw HTTPMessageError(.parserFinished, fault: .caller) }
        surplus += bytes
        while true {
            let received = surplus
            guard case .complete(let count) = try parser.parse(received.span.bytes) else { return nil }
            let head = try parser.makeResponse(from: received.span.bytes)
            surplus.removeFirst(count)
            // Without a reset, the parser refuses further bytes.
            guard head.status.kind == .informational, head.status != .switchingProtocols else { return head }
            interimCount += 1
            guard interimCount <= HTTPLimits.interimResponses else {
                throw HTTPMessageError(.tooManyInterimResponses)
            }
            parser.reset()
        }
    }
}
