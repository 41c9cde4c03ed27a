import HTTPMessage

/// The result of parsing a row's bytes with our parsers.
struct MessageRun: Equatable {
    enum Verdict: Equatable {
        case accept, acceptAtEnd, incomplete
        case reject(HTTPMessageError.Code)
    }

    struct Message: Equatable {
        var request: HTTPRequest?
        var response: HTTPResponse?
        var body: [UInt8] = []
        var trailers = HTTPFields()
        var isComplete = false

        var fields: HTTPFields { request?.fields ?? response?.fields ?? HTTPFields() }
        var isInterim: Bool { response?.status.kind == .informational && response?.status.code != 101 }
    }

    var verdict = Verdict.incomplete
    var messages: [Message] = []
    var surplus: [UInt8] = []

    /// Parses whole messages that arrive in pieces of the given size.
    init(
        _ bytes: [UInt8], _ kind: MessageParser.Kind, _ leniency: HTTPLeniency, method: HTTPMethod = .get,
        stopsAtUpgrade: Bool = false, piece: Int
    ) {
        var parser = MessageParser(kind, leniency: leniency)
        for _ in 0..<8 { parser.expectResponse(to: method) }
        do throws(HTTPMessageError) {
            var start = 0
            repeat {
                let end = min(bytes.count, start + piece)
                try parser.append(bytes[start..<end])
                start = end
                while let event = try parser.next() { take(event, &parser, stopsAtUpgrade) }
            } while start < bytes.count
            surplus = parser.surplus
            try judgeEnd(&parser, kind)
        } catch {
            verdict = .reject(error.code)
        }
    }

    private mutating func take(_ event: MessageParser.Event, _ parser: inout MessageParser, _ stopsAtUpgrade: Bool) {
        switch event {
        case .request(let request):
            messages.append(Message(request: request))
            if stopsAtUpgrade, request.fields.contains(.upgrade) { parser.switchProtocols() }
            if request.method == .connect { messages[messages.count - 1].isComplete = true }
        case .informational(let response):
            messages.append(Message(response: response, isComplete: true))
        case .response(let response):
            messages.append(Message(response: response, isComplete: response.status.code == 101))
        case .body(let bytes):
            messages[messages.count - 1].body += bytes
        case .end(let trailers):
            messages[messages.count - 1].trailers = trailers
            messages[messages.count - 1].isComplete = true
        }
    }

    /// Sets the verdict at the end of the bytes: between messages, in a body that the close completes, or within a message.
    private mutating func judgeEnd(_ parser: inout MessageParser, _ kind: MessageParser.Kind) throws(HTTPMessageError) {
        if messages.isEmpty || messages.allSatisfy(\.isInterim) { return }
        if parser.isFinished || parser.isBetweenMessages || surplus.allSatisfy({ $0 == 13 || $0 == 10 }),
            messages.allSatisfy(\.isComplete)
        {
            verdict = .accept
            return
        }
        do throws(HTTPMessageError) {
            if let event = try parser.receiveEnd() {
                take(event, &parser, false)
                verdict = .acceptAtEnd
            }
        } catch {
            guard error.code == .truncated else { throw error }
        }
    }

    /// Parses one head, or only field lines, that arrive in pieces of the given size.
    init(head bytes: [UInt8], _ kind: HeadParser.Kind, _ leniency: HTTPLeniency, method: HTTPMethod, piece: Int) {
        var parser = HeadParser(kind, leniency: leniency)
        do throws(HTTPMessageError) {
            var end = 0
            repeat {
                end = min(bytes.count, end + piece)
                let seen = Array(bytes[..<end])
                guard case .complete = try parser.parse(seen.span.bytes) else { continue }
                switch kind {
                case .request:
                    let request = try parser.makeRequest(from: seen.span.bytes)
                    messages = [Message(request: request, isComplete: true)]
                    if request.method != .connect { _ = try BodyFraming.of(request, leniency: leniency) }
                case .response:
                    let response = try parser.makeResponse(from: seen.span.bytes)
                    messages = [Message(response: response, isComplete: true)]
                    _ = try BodyFraming.of(response, to: method, leniency: leniency)
                case .trailers:
                    var response = try HTTPResponse(status: .ok)
                    response.fields = try parser.makeTrailers(from: seen.span.bytes)
                    messages = [Message(response: response, isComplete: true)]
                }
                verdict = .accept
                return
            } while end < bytes.count
        } catch {
            verdict = .reject(error.code)
        }
    }
}
