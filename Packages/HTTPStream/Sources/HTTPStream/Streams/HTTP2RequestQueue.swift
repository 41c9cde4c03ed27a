internal import HTTP2

/// Requests that wait until they can be sent, in order. There may be thousands, and any of them may be given up.
struct HTTP2RequestQueue: Sendable {
    struct Element: Sendable {
        let request: HTTP2Request
        let endsHere: Bool
        let stream: HTTP2ClientStream
    }

    /// By their tickets, which grow.
    private var elements: [Int: Element] = [:]
    /// No ticket of a waiting request is lower.
    private var lowest = 0
    private var nextTicket = 0

    var isEmpty: Bool { elements.isEmpty }

    mutating func append(_ element: Element) {
        element.stream.ticket = nextTicket
        elements[nextTicket] = element
        nextTicket += 1
    }

    /// The request that has waited for the longest time.
    mutating func first() -> Element? {
        if elements.isEmpty {
            lowest = nextTicket
            return nil
        }
        while elements[lowest] == nil { lowest += 1 }
        return elements[lowest]
    }

    /// Removes the request of a stream, if it waits here.
    mutating func remove(_ stream: HTTP2ClientStream) {
        guard let ticket = stream.ticket, elements[ticket]?.stream === stream else { return }
        elements[ticket] = nil
        stream.ticket = nil
    }

    /// Removes all requests. Returns them in order.
    mutating func removeAll() -> [Element] {
        defer { (elements, lowest) = ([:], nextTicket) }
        return (lowest..<nextTicket).compactMap { elements[$0] }
    }
}
