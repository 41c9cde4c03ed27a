/// Something was found, or has gone.
///
/// Replaces `CFNetServiceBrowserClientCallBack` with its flags.
public struct DiscoveryChange<Thing: Hashable & Sendable>: Hashable, Sendable {
    /// Found or gone.
    public enum Kind: Hashable, Sendable {
        /// It is there; told once, however many interfaces it is seen on.
        case found
        /// It is gone: taken back, or not heard of for as long as it was good for.
        case removed
    }

    /// Found or gone.
    public let kind: Kind
    /// What.
    public let value: Thing
    /// True if the next change is at hand: wait with drawing until it is false. Replaces `kCFNetServiceFlagMoreComing`.
    public let moreComing: Bool
}
