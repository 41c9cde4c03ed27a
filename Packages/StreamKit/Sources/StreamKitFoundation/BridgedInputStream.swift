public import Foundation
internal import RunLoopDelivery
public import StreamKit

/// A `ReadStream` as Foundation's `InputStream`, with a working delegate, run loops and all properties.
///
/// ```swift
/// var input: InputStream?
/// var output: OutputStream?
/// Stream.getStreamsToHost(withName: "localhost", port: 7, inputStream: &input, outputStream: &output)
/// input?.delegate = delegate
/// input?.schedule(in: .current, forMode: .default)
/// input?.open()
/// ```
///
/// On Linux, Foundation's own class stores a delegate and never calls it, and traps when the error of a stream without
/// one is read. This class implements every member over any `ReadStream`: a connection, a file, memory, or a stream of
/// another package. As on Apple's platforms, one thread at a time uses a stream. Unlike there, another thread may call
/// `close()`, which ends a waiting read.
///
/// A scheduled, open stream is kept alive until it is closed or removed from its run loops.
public final class BridgedInputStream: Foundation.InputStream, StreamDelegate {
    private let streams: BridgedStreams
    private let relay = DelegateRelay()
    /// The source of a stream of data, which ``getBuffer(_:length:)`` lends.
    private let memory: LentMemory?

    /// Wraps a stream, which may be open already.
    public init(_ stream: ReadStream) {
        streams = BridgedStreams(stream)
        memory = nil
        super.init(data: Data())
        attach()
    }

    /// Makes a stream of bytes in memory.
    public override init(data: Data) {
        let memory = LentMemory(data)
        streams = BridgedStreams(ReadStream(memory: memory))
        self.memory = memory
        super.init(data: Data())
        attach()
    }

    /// Makes a stream of a file's bytes; nil if the URL is not a file URL. If the file does not exist, `open()` fails.
    public override init?(url: URL) {
        guard url.isFileURL else { return nil }
        streams = BridgedStreams(ReadStream(path: url.path))
        memory = nil
        super.init(data: Data())
        attach()
    }

    init(_ streams: BridgedStreams) {
        self.streams = streams
        memory = nil
        super.init(data: Data())
        attach()
    }

    private func attach() {
        relay.setOwner(self)
        streams.onNewInput { [relay] in relay.follow(to: $0) }
    }

    deinit {
        streams.input?.close()
    }

    /// The underlying stream. Starting TLS on an open connection replaces it.
    public var readStream: ReadStream {
        guard let input = streams.input else { preconditionFailure("an input front has an input") }
        return input
    }

    // MARK: Opening and closing

    /// Starts to open the stream and returns at once. An immediate failure appears in `streamStatus`.
    public override func open() {
        relay.opened()
        _ = Result { () throws(StreamError) in try readStream.open() }
    }

    /// Closes the stream. No event follows. Removes the stream from all its run loops.
    public override func close() {
        readStream.close()
        relay.closed()
    }

    /// The state of the stream.
    public override var streamStatus: Stream.Status { streams.visibleStatus(readStream.status) }

    /// The error of a failed stream, as an `NSError`; otherwise nil.
    public override var streamError: (any Error)? { readStream.error?.foundationError }

    // MARK: Reading

    /// Reads 1 to `len` bytes, blocking the thread. Returns 0 at the end, -1 if the stream failed or is not open.
    public override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        do throws(StreamError) {
            return try readStream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: len))
        } catch {
            return -1
        }
    }

    /// Returns the remaining bytes of a stream of data, without a copy, and counts them as read. Returns false for every other
    /// stream.
    ///
    /// The bytes are valid until the end of the stream's life.
    public override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool {
        guard readStream.status == .open, let lent = memory?.lend() else { return false }
        var last: UInt8 = 0
        guard read(&last, maxLength: 1) == 1 else { return false }
        buffer.pointee = lent.baseAddress
        len.pointee = lent.count
        return true
    }

    /// Whether a read would not wait: there are bytes, the end or an error. False unless the stream is open.
    public override var hasBytesAvailable: Bool { readStream.hasBytesAvailable }

    // MARK: Events

    /// The receiver of events on the run loops, held weakly. Without one, it is the stream itself.
    public override var delegate: (any StreamDelegate)? {
        get { relay.delegate ?? self }
        set {
            relay.delegate = newValue === self ? nil : newValue
            if newValue != nil { relay.attach(to: readStream) }
        }
    }

    /// Does nothing: the default handling of events for a stream without a delegate.
    public func stream(_ aStream: Stream, handle eventCode: Stream.Event) {}

    /// Schedules the delivery of events on a run loop in a mode. A stream may be scheduled several times; each event is
    /// delivered once.
    public override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let target = RunLoopTarget(aRunLoop, mode: mode)
        readStream.schedule(on: target)
        relay.schedule(on: target)
    }

    /// Ends the delivery of events on a run loop in a mode. Harmless if the stream was not scheduled there, and after
    /// `close()`.
    public override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let target = RunLoopTarget(aRunLoop, mode: mode)
        readStream.unschedule(from: target)
        relay.unschedule(from: target)
    }

    // MARK: Properties

    /// Returns the value of a property; nil if it has none, or none yet.
    public override func property(forKey key: Stream.PropertyKey) -> AnyObject? {
        streams.property(forKey: key)
    }

    /// Sets a property; nil restores the default. Returns false if it cannot be set, or not any more.
    public override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
        streams.setProperty(property, forKey: key)
    }
}
