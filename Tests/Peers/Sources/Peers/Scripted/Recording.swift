/// What a scripted server saw of one connection.
public struct Recording: Hashable, Sendable {
    /// How the script's end of the connection learned of the other's end.
    public enum Ending: Hashable, Sendable {
        /// It did not: the script ended first.
        case unseen
        /// The client ended its sending side properly.
        case finished
        /// The client reset the connection.
        case reset
    }

    /// Every byte that the script read, whether it expected it or not.
    public var received: [UInt8] = []
    /// How the client ended.
    public var ending = Ending.unseen
    /// What the script complained about, if it did.
    public var error: PeerError?

    /// The bytes as text.
    public var text: String { String(decoding: received, as: UTF8.self) }
}
