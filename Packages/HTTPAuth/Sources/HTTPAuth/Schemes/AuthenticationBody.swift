/// The body of a message, as far as a scheme can sign or check it.
public enum AuthenticationBody: Hashable, Sendable {
    /// All of it; empty if there is none.
    case bytes([UInt8])
    /// It is streamed: nobody has seen it yet.
    case unknown
}
