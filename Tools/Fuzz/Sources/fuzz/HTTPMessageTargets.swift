@_spi(Packages) internal import HTTPMessage

extension FuzzTarget {
    /// Requests, as received by a server.
    static let httpRequest = FuzzTarget(name: "http-request") { bytes in
        for leniency in [HTTPLeniency.strict, .client] { compareSplits(of: bytes, .request, leniency) }
    }

    /// Responses, as received by a client.
    static let httpResponse = FuzzTarget(name: "http-response") { bytes in
        for leniency in [HTTPLeniency.strict, .client] {
            compareSplits(of: bytes, .response, leniency)
            compareFinalHeads(of: bytes, leniency)
        }
    }

    /// Checks that the final head, and what follows it, do not depend on how the bytes are split.
    private static func compareFinalHeads(of bytes: [UInt8], _ leniency: HTTPLeniency) {
        let whole = finalHead(of: bytes, in: max(1, bytes.count), leniency)
        for size in [1, 7] where size < bytes.count {
            precondition(
                finalHead(of: bytes, in: size, leniency) == whole, "pieces of \(size) bytes: another final head")
        }
    }

    /// Returns the final head, if there is one, and what follows it, or the error.
    private static func finalHead(of bytes: [UInt8], in size: Int, _ leniency: HTTPLeniency) -> [String] {
        var parser = FinalHeadParser(leniency: leniency)
        do throws(HTTPMessageError) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let end = min(start + size, bytes.count)
                if let head = try parser.receive(bytes[start..<end]) {
                    return ["\(head.serialized())", "\(parser.surplus + bytes[end...])"]
                }
            }
            return ["\(parser.surplus)"]
        } catch {
            return ["error \(error.code)"]
        }
    }

    /// Checks that the result does not depend on how the bytes are split.
    private static func compareSplits(of bytes: [UInt8], _ kind: MessageParser.Kind, _ leniency: HTTPLeniency) {
        let whole = outcome(of: bytes, in: max(1, bytes.count), kind, leniency)
        for size in [1, 7] where size < bytes.count {
            precondition(
                outcome(of: bytes, in: size, kind, leniency) == whole, "pieces of \(size) bytes: another result")
        }
    }

    /// Returns the parsed events as text: serialized heads, whole bodies, trailers and the error.
    private static func outcome(
        of bytes: [UInt8], in size: Int, _ kind: MessageParser.Kind, _ leniency: HTTPLeniency
    ) -> [String] {
        var parser = MessageParser(kind, leniency: leniency)
        var seen: [String] = []
        var body: [UInt8] = []
        func take(_ event: MessageParser.Event) {
            switch event {
            case .body(let piece): body += piece
            case .request(let head): seen.append("request \(head.serialized())")
            case .informational(let head): seen.append("interim \(head.serialized())")
            case .response(let head): seen.append("response \(head.serialized())")
            case .end(let trailers):
                seen.append("end \(body) \(trailers.map(\.rawValue))")
                body = []
            }
        }
        do throws(HTTPMessageError) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                try parser.append(bytes[start..<min(start + size, bytes.count)])
                while let event = try parser.next() { take(event) }
            }
            if let event = try parser.receiveEnd() { take(event) }
        } catch {
            // The part of an incomplete body that was returned depends on the split, so it is left out.
            seen.append("error \(error.code)")
        }
        return seen
    }
}
