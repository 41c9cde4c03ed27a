public import EventLoops

/// The primitive at the bottom of every stream: try to read, try to write, never wait.
///
/// Blocking, polled, scheduled and async use are all built on it, so a source or a layer of your own serves all four:
///
/// ```swift
/// /// Turns what passes into upper case.
/// final class Shouting: StreamTransport {
///     let lower: any StreamTransport
///     var waitPoint: WaitPoint { lower.waitPoint }
///     func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
///         let attempt = try lower.tryRead(into: &buffer)
///         if case .moved(let count) = attempt { buffer.shout(count) }
///         return attempt
///     }
///     …
/// }
/// let stream = ReadStream(transport: Shouting(lower))
/// ```
///
/// The stream calls at most one reading and one writing member at a time; these two may come from different threads at
/// once. A layer that keeps state for both directions (as TLS does) locks it.
public protocol StreamTransport: AnyObject, Sendable {
    /// Where a reader or writer waits after ``Attempt/wouldBlock(_:)``. May change from one call to the next, as when a
    /// redirected request moves to another connection.
    var waitPoint: WaitPoint { get }

    /// The loop of the stream's own wait point. Default: that of ``waitPoint``.
    var loop: EventLoop { get }

    /// Takes the next step of opening; called until it says `.opened` or throws. Nothing else is called before.
    func tryOpen() throws(StreamError) -> OpenAttempt

    /// Reads 1…n bytes into the front of `buffer`, which is not empty.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt

    /// As ``tryRead(into:)``, but may wait on the calling thread, where that costs less than being tried, waited for and
    /// tried again. Default: ``tryRead(into:)``.
    ///
    /// Called by blocking reads without a limit. ``close()``, or closing the wait point, must end the wait; looking and
    /// writing go on meanwhile.
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt

    /// Writes 1…n bytes from the front of `bytes`, which is not empty.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt

    /// What ``tryRead(into:)`` would give now, without taking anything: `.moved` with a count that need not be exact.
    func peek() throws(StreamError) -> Attempt

    /// What ``tryWrite(_:)`` would give now: `.moved` with a count that need not be exact.
    func writability() throws(StreamError) -> Attempt

    /// Hands down what ``tryWrite(_:)`` accepted and still holds; `.ended` when nothing is left.
    ///
    /// Writes that wait are followed by this until it says so; a polled write is not, so every other member hands down
    /// what it can, too.
    func tryFlush() throws(StreamError) -> Attempt

    /// Ends the sending direction so that the peer sees the end; `.ended` when that is done.
    func tryFinish() throws(StreamError) -> Attempt

    /// Says farewell if that takes no waiting (a TLS close_notify), and lets go of what is below. Called once, before the
    /// descriptor goes; also after ``tryOpen()`` threw, and when the stream is closed without having been opened.
    func close()

    /// The properties that streams over this transport honour, beside those that it takes itself. Default:
    /// ``StreamKind/transport``.
    var kind: StreamKind { get }

    /// A property of this transport or of one below it; nil if it has none by that name.
    func property(named name: String) -> (any Sendable)?

    /// Changes a property; false if it has none by that name. What was set with true, ``property(named:)`` tells.
    ///
    /// With false the stream keeps the value if its ``kind`` honours the property or it is a key of the caller's own, and
    /// refuses it otherwise. So give true only for a property that takes effect.
    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool
}

extension StreamTransport {
    /// The loop of what it waits at.
    public var loop: EventLoop { waitPoint.loop }

    /// Nothing to open.
    public func tryOpen() throws(StreamError) -> OpenAttempt { .opened }

    /// Never waits.
    public func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { try tryRead(into: &buffer) }

    /// Holds nothing.
    public func tryFlush() throws(StreamError) -> Attempt { .ended }

    /// Nothing to end.
    public func tryFinish() throws(StreamError) -> Attempt { .ended }

    /// Nothing to say.
    public func close() {}

    /// A transport of the caller's.
    public var kind: StreamKind { .transport }

    /// No properties.
    public func property(named name: String) -> (any Sendable)? { nil }

    /// No properties.
    public func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool { false }
}
