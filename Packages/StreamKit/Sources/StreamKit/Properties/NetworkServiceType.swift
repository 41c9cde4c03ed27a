/// What a stream's traffic is for, as a hint to routers: the DSCP field of its packets (RFC 4594).
///
/// Replaces `kCFStreamNetworkServiceType` and its values. Whether a network honours it is the network's affair.
public enum NetworkServiceType: Sendable, Hashable, CaseIterable {
    /// Ordinary traffic.
    case standard
    /// Not urgent: yields to everything else (CS1).
    case background
    /// A call's sound (EF).
    case voice
    /// A call's picture (AF41).
    case video
    /// Setting up calls (CS5).
    case callSignaling
    /// Answers that somebody waits for (AF21).
    case responsiveData
    /// Streamed media (AF31).
    case mediaStreaming
    /// Media that reacts to a user (CS4).
    case responsiveMedia

    /// The six bits, as they stand in the upper part of the IPv4 TOS and the IPv6 traffic class byte.
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
