/// What a wire does to the packets that it carries; each packet has at most one of the faults.
public struct WireFaults: Hashable, Sendable {
    /// Percent of the packets that never arrive.
    public var lost: Int
    /// Percent that arrive twice.
    public var doubled: Int
    /// Percent that come late, and after others that were sent later.
    public var late: Int
    /// How late at most, in milliseconds.
    public var delay: Int

    /// Describes a wire.
    public init(lost: Int, doubled: Int, late: Int, delay: Int) {
        (self.lost, self.doubled, self.late, self.delay) = (lost, doubled, late, delay)
    }
}
