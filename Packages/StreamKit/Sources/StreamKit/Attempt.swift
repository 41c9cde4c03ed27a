public import EventLoops

/// The result of one try to transfer bytes. A try never waits.
public enum Attempt: Sendable, Hashable {
    /// This many bytes were transferred, at least one.
    case moved(Int)

    /// The end: no more bytes can be read, or no more can be written.
    case ended

    /// Nothing was transferred. Wait for this interest at the transport's ``StreamTransport/waitPoint``, then try
    /// again.
    case wouldBlock(Interest)
}

/// The result of one step of opening. A step never waits.
public enum OpenAttempt: Sendable, Hashable {
    /// The transport is open: bytes can be transferred.
    case opened

    /// Wait for this interest at the transport's ``StreamTransport/waitPoint``, then take the next step.
    case wouldBlock(Interest)
}
