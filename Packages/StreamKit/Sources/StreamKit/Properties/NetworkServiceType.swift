/// The purpose of a stream's traffic, as a hint to routers: the DSCP field of its packets (RFC 4594).
///
/// Networks may ignore the hint. Replaces `kCFStreamNetworkServiceType` and its values.
public enum NetworkServiceType: Sendable, Hashable, CaseIterable {
    /// Ordinary traffic.
    case standard
    /// Not urgent; yields to all other traffic (CS1).
    case background
    /// The audio of a call (EF).
    case voice
    /// The video of a call (AF41).
    case video
    /// Call setup (CS5).
    case callSignaling
    /// Data that a user is waiting for (AF21).
    case responsiveData
    /// Streamed media (AF31).
    case mediaStreaming
    /// Interactive media (CS4).
    case responsiveMedia

    /// The six bits of the DSCP: the upper part of the IPv4 TOS byte and the IPv6 traffic class byte.
    var differentiatedServicesCodePoint: UInt8 {
        switch self {
        case .standard: 0
        case .background: 8
        case .voice: 46
        case .video: 34
        case .callSignaling: 40
        case .responsiveData: 18
        case .mediaStreaming: 26
        case .responsiveMedia: 32
        }
    }
}
