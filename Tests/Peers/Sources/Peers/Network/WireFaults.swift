/// The faults of a wire. Each packet has at most one of them.
public struct WireFaults: Hashable, Sendable {
    /// The percentage of packets that are lost.
    public var lost: Int
    /// The percentage of packets that arrive twice.
    public var doubled: Int
    /// The percentage of packets that arrive late, after packets that were sent later.
    public var late: Int
    /// The maximum delay, in milliseconds.
    public var delay: Int

    /// Creates faults.
    public init(lost: Int, doubled: Int, late: Int, delay: Int) {
        (self.lost, self.doubled, self.late, self.delay) = (lost, doubled, late, delay)
    }
}
