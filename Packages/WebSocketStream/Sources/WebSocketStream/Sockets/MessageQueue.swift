/// The messages that wait to be read.
struct MessageQueue {
    /// What a message counts in addition to its bytes, so that empty ones are limited as well.
    private static let overhead = 64

    private var messages: [WebSocketMessage] = []
    private var head = 0
    /// The number of bytes, with the overhead of each message.
    private(set) var length = 0

    var isEmpty: Bool { head == messages.count }

    mutating func append(_ message: WebSocketMessage) {
        messages.append(message)
        length += message.count + MessageQueue.overhead
    }

    mutating func popFirst() -> WebSocketMessage? {
        guard head < messages.count else { return nil }
        let message = messages[head]
        messages[head] = .binary([])
        head += 1
        length -= message.count + MessageQueue.overhead
        if head == messages.count {
            messages.removeAll(keepingCapacity: true)
            head = 0
        } else if head == 256 {
            messages.removeFirst(head)
            head = 0
        }
        return message
    }
}
