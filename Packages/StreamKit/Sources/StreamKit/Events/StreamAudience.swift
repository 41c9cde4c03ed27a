internal import EventLoops

/// The clients of a connection's events and the targets where they run.
///
/// Allocated with the first client or target: most streams have neither, and a process may hold many thousands of idle
/// streams. Guarded by the connection's lock.
final class StreamAudience {
    struct Side {
        var client: StreamClient?
        var targets: [any DeliveryTarget] = []
        /// Made with the first client of this half.
        var watch: ClientWatch?
    }

    private var reader = Side()
    private var writer = Side()
    subscript(half: StreamHalf) -> Side {
        get { half == .reader ? reader : writer }
        set { if half == .reader { reader = newValue } else { writer = newValue } }
    }
}
