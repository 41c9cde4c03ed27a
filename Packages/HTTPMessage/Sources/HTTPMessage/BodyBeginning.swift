/// Decodes the body of a response up to a limit, for a client that needs no more of it. No I/O.
///
/// ```swift
/// var body = try BodyBeginning(of: response, to: .get, upTo: 4096)
/// try body.receive(buffer)  // what arrived with the head
/// while !body.isComplete { try body.receive(connection.read()) }
/// print(body.bytes.count)
/// ```
@_spi(Packages) public struct BodyBeginning: Sendable {
    /// The payload so far, at most as long as the limit.
    public private(set) var bytes: [UInt8] = []
    /// The received bytes that have not been decoded: those behind the body, or behind the limit.
    public private(set) var surplus: [UInt8] = []

    private var decoder: BodyDecoder
    private let limit: Int

    /// Creates a decoder for the body that follows a head.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - method: The method of its request.
    ///   - limit: The maximum number of bytes of payload.
    ///   - limits: The limits on the framing of the body.
    /// - Throws: The errors of ``BodyFraming/of(_:to:leniency:)``.
    public init(
        of head: HTTPResponse, to method: HTTPMethod, upTo limit: Int, limits: HTTPLimits = .default
    ) throws(HTTPMessageError) {
        self.limit = limit
        decoder = BodyDecoder(try .of(head, to: method, leniency: .client), limits: limits, leniency: .client)
    }

    /// Whether the body has ended, or the limit is reached.
    public var isComplete: Bool { decoder.isComplete || bytes.count >= limit }

    /// Whether the body has ended, and the connection may continue behind it.
    public var hasEndedByItself: Bool { decoder.isComplete && decoder.framing != .untilClose }

    /// Processes received bytes.
    ///
    /// - Throws: An error if they violate the framing of the body.
    public mutating func receive(_ input: [UInt8]) throws(HTTPMessageError) {
        let received = surplus + input
        var position = 0
        while !isComplete {
            let event = try decoder.next(in: received.span.bytes, at: &position, upTo: limit - bytes.count)
            guard case .payload(let range) = event else { break }
            bytes += received[range]
        }
        surplus = Array(received[position...])
    }

    /// Processes the end of the connection.
    ///
    /// - Throws: ``HTTPMessageError/Code/truncated`` if the body may not end this way.
    public mutating func receiveEnd() throws(HTTPMessageError) {
        try decoder.receiveEnd()
    }
}
