public import EventLoops

/// What one try to move bytes gave. No try ever waits.
public enum Attempt: Sendable, Hashable {
    /// This many bytes were moved, at least one.
    case moved(Int)

    /// The end: nothing more will be read, or can be written.
    case ended

    /// Nothing moved. Wait for this on the transport's ``StreamTransport/waitPoint``, then try again.
    case wouldBlock(Interest)
}

/// What one step of opening gave. No step ever waits.
public enum OpenAttempt: Sendable, Hashable {
    /// Open: bytes can be moved.
    case opened

    /// Wait for this on the transport's ``StreamTransport/waitPoint``, then take the next step.
    case wouldBlock(Interest)
}
