/// One rung of a diagnosis: whether it works, how long its slowest check took, and the address that was checked.
public struct RungResult: Sendable, Hashable {
    /// The result of the checks of a rung.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The rung works.
        case works
        /// The rung is broken.
        case broken
        /// The rung was not checked.
        case unchecked
    }

    /// The rung.
    public var rung: Rung
    /// The result of its checks.
    public var state: State
    /// The duration of the rung's check; of several, that of the slowest. Nil if it was not measured, as with facts from a stream's
    /// report. A TLS handshake counts for ``Rung/answer`` if the target has that rung.
    public var time: Duration?
    /// The address or addresses that were found or contacted, for display; nil if there is none.
    public var address: String?

    /// Creates a result.
    package init(rung: Rung, state: State, time: Duration? = nil, address: String? = nil) {
        self.rung = rung
        self.state = state
        self.time = time
        self.address = address
    }
}

/// The time of a rung's checks, and their address.
struct RungMeasurement: Sendable, Hashable {
    /// The maximum number of addresses for display.
    static let maximumAddresses = 4

    var time: Duration?
    var address: String?
}
