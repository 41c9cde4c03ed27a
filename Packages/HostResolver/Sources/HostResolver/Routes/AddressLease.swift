/// For how long an address was given to this machine, by DHCP or a router's advertisement, and how much of that is left.
///
/// ```swift
/// if let lease = address.lease, lease.isOverdue { print("nobody has renewed", address.address) }
/// ```
public struct AddressLease: Hashable, Sendable {
    /// For how long it was given when it was renewed last.
    public var total: Duration
    /// What is left of that.
    public var remaining: Duration

    /// Makes a lease.
    public init(total: Duration, remaining: Duration) {
        self.total = total
        self.remaining = remaining
    }

    /// It should have been renewed before: more than seven eighths have passed, which is when a DHCP client gives its own
    /// server up and asks any other (RFC 2131 §4.4.5).
    public var isOverdue: Bool { remaining * 8 < total }
}

extension AddressLease {
    private static let size = 16  // struct ifa_cacheinfo: preferred, valid, created, updated
    private static let forever = UInt32.max

    /// Reads the kernel's times of an address: seconds that are left, and since boot, in hundredths, its last renewal.
    init?(_ bytes: [UInt8], upTime: Duration) {
        guard bytes.count >= AddressLease.size else { return nil }
        let seconds = bytes[...].native(UInt32.self, at: 4)
        if seconds == AddressLease.forever { return nil }
        let remaining = Duration.seconds(Int64(seconds))
        let renewed = Duration.milliseconds(Int64(bytes[...].native(UInt32.self, at: 12)) * 10)
        self.init(total: remaining + max(.zero, upTime - renewed), remaining: remaining)
    }
}
