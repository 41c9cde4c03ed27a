/// The body of a message, which some schemes sign or verify.
public enum AuthenticationBody: Hashable, Sendable {
    /// The complete body; empty if there is none.
    case bytes([UInt8])
    /// The body is streamed and not known yet.
    case unknown
}
