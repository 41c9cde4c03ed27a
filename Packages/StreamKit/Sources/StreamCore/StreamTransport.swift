public import EventLoops

/// The primitive below every stream: try to read, try to write, never wait. Only `read` and `write`, for callers that block, may wait.
///
/// Blocking, polling, scheduled and async use are all built on it, so a custom source or layer supports all four:
///
/// ```swift
/// /// Converts what it reads to capital letters.
/// final class Uppercasing: StreamTransport {
///     let lower: any StreamTransport
///     init(over lower: any StreamTransport) { self.lower = lower }
///
///     var waitPoint: WaitPoint { lower.waitPoint }
///     func tryOpen() throws(StreamError) -> OpenAttempt { try lower.tryOpen() }
///     func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
///         let attempt = try lower.tryRead(into: &buffer)
///         guard case .moved(let count) = attempt else { return attempt }
///         for index in 0..<count {
///             let byte = buffer.bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
///             if case UInt8(ascii: "a")...UInt8(ascii: "z") = byte {
///                 buffer.storeBytes(of: byte - 32, toByteOffset: index, as: UInt8.self)
///             }
///         }
///         return attempt
///     }
///     func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { try lower.tryWrite(bytes) }
///     func peek() throws(StreamError) -> Attempt { try lower.peek() }
///     func writability() throws(StreamError) -> Attempt { try lower.writability() }
///     func close() { lower.close() }
/// }
/// let stream = ReadStream(transport: Uppercasing(over: lower))
/// ```
///
/// The stream calls at most one reading and one writing member at a time; these two may be called concurrently from
/// different threads. A layer with state for both directions, such as TLS, must lock it.
public protocol StreamTransport: AnyObject, Sendable {
    /// The point where a reader or writer waits after ``Attempt/wouldBlock(_:)``. May change from call to call, as when
    /// a redirected request moves to another connection.
    var waitPoint: WaitPoint { get }

    /// Whether the ``waitPoint`` never changes and belongs to the stream over this transport alone, which then uses it as its own.
    /// Default: false, which costs each stream a wait point.
    var ownsWaitPoint: Bool { get }

    /// The loop of the stream's own wait point. Default: that of ``waitPoint``.
    var loop: EventLoop { get }

    /// Takes the next step of opening. Called until it returns `.opened` or throws; no other member is called before.
    func tryOpen() throws(StreamError) -> OpenAttempt

    /// Reads 1…n bytes into the front of `buffer`, which is not empty.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt

    /// As ``tryRead(into:)``, but may wait on the calling thread, if that costs less than a failed try, a wait and
    /// another try. Default: ``tryRead(into:)``.
    ///
    /// Called by blocking reads without a time limit. ``close()``, or closing the wait point, must end the wait.
    /// Peeking and writing continue meanwhile.
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt

    /// Writes 1…n bytes from the front of `bytes`, which is not empty.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt

    /// As ``tryWrite(_:)``, but may wait on the calling thread, if that costs less than a try and a wait. Default:
    /// ``tryWrite(_:)``.
    ///
    /// Called by blocking writes without a time limit. ``close()``, or closing the wait point, must end the wait, unless it is for a
    /// disk.
    func write(_ bytes: RawSpan) throws(StreamError) -> Attempt

    /// The result that ``tryRead(into:)`` would have now, consuming nothing. The count of `.moved` need not be exact.
    func peek() throws(StreamError) -> Attempt

    /// The result that ``tryWrite(_:)`` would have now. The count of `.moved` need not be exact.
    func writability() throws(StreamError) -> Attempt

    /// Passes down bytes that ``tryWrite(_:)`` accepted and the transport still holds; `.ended` when none are left.
    ///
    /// Writes that wait call this until it returns `.ended`. A polled write does not, so every other member must also
    /// pass down as many bytes as possible.
    func tryFlush() throws(StreamError) -> Attempt

    /// Ends the sending direction so that the peer sees the end; `.ended` when that is complete.
    func tryFinish() throws(StreamError) -> Attempt

    /// Sends a closing message if that does not wait (a TLS close_notify), and releases the layers below. Called once,
    /// before the descriptor is closed; also after ``tryOpen()`` threw, and when a stream is closed that was never
    /// opened.
    func close()

    /// The properties that streams over this transport honour, in addition to those that the transport handles itself.
    /// Default: ``StreamKind/transport``.
    var kind: StreamKind { get }

    /// A property of this transport or of one below it; nil if it has none by that name.
    func property(named name: String) -> (any Sendable)?

    /// Changes a property; false if there is none by that name. ``property(named:)`` must return a value that was set
    /// with true.
    ///
    /// After false, the stream keeps the value if its ``kind`` honours the property or the key is the caller's own;
    /// otherwise it refuses it. So return true only for a property that takes effect.
    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool
}

extension StreamTransport {
    /// The loop of ``waitPoint``.
    public var loop: EventLoop { waitPoint.loop }

    /// Shares the wait point, or changes it.
    public var ownsWaitPoint: Bool { false }

    /// Opens at once.
    public func tryOpen() throws(StreamError) -> OpenAttempt { .opened }

    /// Reads without waiting.
    public func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { try tryRead(into: &buffer) }

    /// Writes without waiting.
    public func write(_ bytes: RawSpan) throws(StreamError) -> Attempt { try tryWrite(bytes) }

    /// Holds no bytes.
    public func tryFlush() throws(StreamError) -> Attempt { .ended }

    /// Has no sending direction to end.
    public func tryFinish() throws(StreamError) -> Attempt { .ended }

    /// Does nothing.
    public func close() {}

    /// Has no properties.
    public func property(named name: String) -> (any Sendable)? { nil }

    /// Has no properties.
    public func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool { false }
}

/// The result of one try to transfer bytes. A try never waits.
public enum Attempt: Sendable, Hashable {
    /// This many bytes were transferred, at least one.
    case moved(Int)

    /// The end: no more bytes can be read, or no more can be written.
    case ended

    /// Nothing was transferred. Wait for this interest at the transport's ``StreamTransport/waitPoint``, then try
    /// again.
    case wouldBlock(Interest)

    /// The number of bytes transferred, 0 at the end; nil if the caller must wait.
    @inlinable
    package var count: Int? {
        switch self {
        case .moved(let count): count
        case .ended: 0
        case .wouldBlock: nil
        }
    }
}

/// The result of one step of opening. A step never waits.
public enum OpenAttempt: Sendable, Hashable {
    /// The transport is open: bytes can be transferred.
    case opened

    /// Wait for this interest at the transport's ``StreamTransport/waitPoint``, then take the next step.
    case wouldBlock(Interest)
}

extension WaitPoint.Half {
    /// The readiness that a transfer of this direction usually waits for.
    package var interest: Interest {
        switch self {
        case .reader: .readable
        case .writer: .writable
        }
    }
}
