internal import EventLoops

/// Who is told of a connection's events, and where. Made when somebody wants to be told: most streams are only read and
/// written, and many thousands of them may be idle. Behind the connection's lock.
final class StreamAudience {
    struct Side {
        var client: StreamClient?
        var targets: [any DeliveryTarget] = []
        /// Made with the first client.
        var watch: ClientWatch?
    }

    private var reader = Side()
    private var writer = Side()
    subscript(half: StreamHalf) -> Side {
        get { half == .reader ? reader : writer }
        set { if half == .reader { reader = newValue } else { writer = newValue } }
    }
}
