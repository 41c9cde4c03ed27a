/// The readiness that a wait is for: reading, writing or both would not block.
///
/// Either half of a connection may wait for either readiness: a TLS read may need the socket to be *writable*. An empty set
/// waits for both.
public struct Interest: OptionSet, Sendable, Hashable {
    /// The bits, as stored in the word of a `Waiter`.
    public let rawValue: UInt

    /// Makes a set from its bits, of which only the two lowest have a meaning.
    @inlinable
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Bytes, an end or an error can be read.
    public static let readable = Interest(rawValue: 1)

    /// There is room to write, or a write would fail at once.
    public static let writable = Interest(rawValue: 2)
}

/// The reason why a wait at a ``WaitPoint`` ended.
///
/// It is a hint: the caller tries its system call again and relies on that result. A spurious wake is allowed; a missing wake
/// is not.
public enum Wake: Sendable, Hashable {
    /// The readiness may have changed: try again.
    case ready

    /// The task was cancelled.
    case cancelled

    /// The deadline passed.
    case timedOut

    /// The half was closed, before or while waiting.
    case closed

    /// Another task or thread is already waiting on this half; the wait did not take place.
    case busy

    /// The kernel refused to watch the descriptor; the value is its `errno`.
    case failed(CInt)
}

/// Which wait ended, of a thread that waited at several points, and why: ``WaitPoint/block(_:for:until:minding:)``.
@_spi(Packages) public enum BlockedWake: Sendable, Hashable {
    /// The wait at the point itself ended.
    case here(Wake)

    /// The wait at another point ended: its index among the others, and the reason.
    case elsewhere(Int, Wake)
}

/// Whether an adopted descriptor is closed by the object that adopts it or by the caller.
public enum DescriptorOwnership: Sendable, Hashable {
    /// The descriptor belongs to the adopting object: shut down to wake blocked calls, and closed at the end.
    case owned

    /// The descriptor remains the caller's: never shut down, reconfigured or closed here. The caller must keep it open until
    /// the point is closed.
    case borrowed
}

/// An observer of one half of a ``WaitPoint``, called once at the next edge: the basis of callbacks and blocked threads.
///
/// ``fire()`` is called on the thread where the edge occurs (a loop's thread, or the thread that closes the point), with no
/// lock held. It must return soon and must not wait. A watcher fires once per ``WaitPoint/watch(_:for:with:by:)``.
/// A wait point is itself the watcher of its descriptor, whose edges it receives for as long as the descriptor is registered.
open class Watcher: @unchecked Sendable {
    // Unchecked only because an open class cannot be checked. This class has no state, and subclasses must ensure that
    // theirs is safe.

    /// Makes a watcher. Subclasses add the state that ``fire()`` needs.
    public init() {}

    /// Called once, when the half may be ready.
    open func fire() {}

    /// Called for each edge of a descriptor that is registered with a loop for this watcher.
    func receive(_ edge: Edge) { fire() }
}

/// An edge of a descriptor: what has become ready, and what epoll has reported with it.
struct Edge: Sendable {
    var interest: Interest
    /// The peer has ended the connection, or it has failed.
    var isEnding: Bool
    /// Urgent data have arrived.
    var isUrgent: Bool
}
