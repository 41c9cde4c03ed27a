internal import HTTP2
internal import HTTPMessage

extension HTTP2Limits {
    /// The limits of a connection whose heads have the limits that they have in HTTP/1.1.
    init(of limits: HTTPLimits) {
        self.init()
        // A field takes two bytes in HTTP/1.1 for each 32 in the list of HTTP/2 (RFC 9113 §6.5.2).
        let fieldCount = min(max(limits.fieldCount, 1), 1 << 16)
        fieldSection.fieldCount = fieldCount
        fieldSection.listSize = min(max(limits.headLength, 0), 1 << 28) + 32 * fieldCount
    }

    /// The limits of a client's connection.
    init(ofClient limits: HTTPLimits) {
        self.init(of: limits)
        maximumInterimResponses = HTTPLimits.interimResponses
    }
}

extension HTTP2Machine {
    /// Acts on bytes from the peer; none mean the end of the connection. The end of each stream is an event, and the output tells the peer why.
    ///
    /// - Parameter take: as for `receive(_:now:take:)`.
    mutating func pass(_ bytes: RawSpan, now: Duration, take: (StreamID, RawSpan) -> Int = { _, _ in 0 }) {
        do throws(HTTP2Error) {
            if bytes.byteCount == 0 { try receiveEnd(now: now) } else { try receive(bytes, now: now, take: take) }
        } catch {}
    }
}

extension HTTP2SendOutcome {
    /// The number of bytes taken; nil if neither bytes nor the end were.
    var taken: Int? { isComplete || count > 0 ? count : nil }
}

extension HTTPFields {
    /// Removes the fields that belong to a connection of HTTP/1.1, which HTTP/2 does not have (RFC 9113 §8.2.2).
    mutating func removeConnectionFields() {
        for name in HTTPFields.connectionFields { remove(name) }
    }

    private static let connectionFields: [HTTPFieldName] = [
        .connection, .transferEncoding, "Keep-Alive", .proxyConnection, .upgrade,
    ]
}
