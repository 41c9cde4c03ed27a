internal import HTTPMessage

/// What the head of a request means for the server: the rules of RFC 9112 §6 and RFC 9110 §10.1.1, §15.5, without any I/O.
struct RequestIntake {
    let request: HTTPRequest
    /// How the end of its body is found.
    let framing: BodyFraming
    /// The client keeps the connection.
    let isPersistent: Bool
    /// The client waits for a 100 (Continue) before it sends the body.
    let expectsContinue: Bool

    /// - Throws: a refusal: 400 for doubtful framing, 413 for a body that is said to be too long, 417 for an unknown expectation,
    ///   501 for a transfer coding that only its sender knows, and for `CONNECT`.
    init(_ request: HTTPRequest, bodyLimit: Int64) throws(RequestRefusal) {
        self.request = request
        do throws(HTTPMessageError) {
            framing = try BodyFraming.of(request)
            if framing == .chunked, try request.fields.transferCodings != ["chunked"] {
                throw HTTPMessageError(.unknownTransferCoding)
            }
        } catch {
            throw RequestRefusal(error)
        }
        if case .length(let count) = framing, count > bodyLimit {
            throw RequestRefusal(HTTPMessageError(.bodyTooLong))
        }
        // A tunnel is nothing that can be answered with a message.
        if request.method == .connect { throw RequestRefusal(501) }
        isPersistent = request.isPersistent
        // RFC 9110 §10.1.1: a client of HTTP/1.0 cannot mean it.
        guard request.version >= .http11, request.fields.contains(.expect) else {
            expectsContinue = false
            return
        }
        let expectations = request.fields.values(for: .expect)
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else { throw RequestRefusal(417) }
        expectsContinue = framing != .none && framing != .length(0)
    }
}
