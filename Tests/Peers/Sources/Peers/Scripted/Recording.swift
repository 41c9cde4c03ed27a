/// What a scripted server received on one connection.
public struct Recording: Hashable, Sendable {
    /// How the client ended the connection, as far as the script has seen.
    public enum Ending: Hashable, Sendable {
        /// The script ended before the client did.
        case unseen
        /// The client closed its sending side (FIN).
        case finished
        /// The client reset the connection.
        case reset
    }

    /// All bytes that the script read, expected or not.
    public var received: [UInt8] = []
    /// How the client ended.
    public var ending = Ending.unseen
    /// The error that the script threw, if any.
    public var error: PeerError?

    /// The bytes as text.
    public var text: String { String(decoding: received, as: UTF8.self) }
}
