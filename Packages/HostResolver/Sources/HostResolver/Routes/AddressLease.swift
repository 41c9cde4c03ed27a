/// The lifetime of an address assigned by DHCP or a router advertisement, and how much of it remains.
///
/// ```swift
/// if let lease = address.lease, lease.isOverdue { print(address.address, "was not renewed") }
/// ```
public struct AddressLease: Hashable, Sendable {
    /// The whole lifetime, counted from the last renewal.
    public var total: Duration
    /// The remaining lifetime.
    public var remaining: Duration

    /// Creates a lease.
    public init(total: Duration, remaining: Duration) {
        self.total = total
        self.remaining = remaining
    }

    /// Whether the lease should have been renewed: more than seven eighths have passed. At that point a DHCP client
    /// gives up on its own server and requests the address from any other (RFC 2131 §4.4.5).
    public var isOverdue: Bool { remaining * 8 < total }
}

extension AddressLease {
    private static let size = 16  // struct ifa_cacheinfo: preferred, valid, created, updated
    private static let forever = UInt32.max

    /// Parses the kernel's `ifa_cacheinfo`: the remaining lifetime in seconds, and the last renewal in hundredths of a
    /// second since boot. Nil for an address without end, and for too few bytes.
    init?(_ bytes: [UInt8], upTime: Duration) {
        guard bytes.count >= AddressLease.size else { return nil }
        let seconds = bytes[...].native(UInt32.self, at: 4)
        if seconds == AddressLease.forever { return nil }
        let remaining = Duration.seconds(Int64(seconds))
        let renewed = Duration.milliseconds(Int64(bytes[...].native(UInt32.self, at: 12)) * 10)
        self.init(total: remaining + max(.zero, upTime - renewed), remaining: remaining)
    }
}
