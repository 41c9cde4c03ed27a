internal import EventLoops
public import Foundation
internal import RunLoopDelivery
@_spi(Packages) public import StreamKit

/// A `WriteStream` as Foundation's `OutputStream`, with a working delegate, run loops and all properties.
///
/// ```swift
/// let output = BridgedOutputStream.toMemory()
/// output.open()
/// _ = output.write([1, 2, 3], maxLength: 3)
/// let bytes = output.property(forKey: .dataWrittenToMemoryStreamKey) as? Data
/// ```
///
/// The counterpart of ``BridgedInputStream``. As on Apple's platforms, closing it does not end the peer's input while
/// the input of the same connection is open; `writeStream.finish()` does.
public final class BridgedOutputStream: Foundation.OutputStream, StreamDelegate {
    private let streams: BridgedStreams
    private let relay = DelegateRelay()

    /// Wraps a stream, which may be open already.
    public init(_ stream: WriteStream) {
        streams = BridgedStreams(stream)
        super.init(toMemory: ())
        attach()
    }

    /// Makes a stream into growing memory. The property `Stream.PropertyKey.dataWrittenToMemoryStreamKey` returns the
    /// bytes.
    public required init(toMemory: ()) {
        streams = BridgedStreams(WriteStream(toMemoryOfCapacity: nil))
        super.init(toMemory: ())
        attach()
    }

    /// Makes a stream into the caller's memory, which must stay valid for as long as the stream exists.
    ///
    /// When the memory is full, `write` returns 0 and the stream is at its end.
    public override init(toBuffer buffer: UnsafeMutablePointer<UInt8>, capacity: Int) {
        streams = BridgedStreams(WriteStream(transport: CallerMemory(buffer, capacity: capacity)))
        super.init(toMemory: ())
        attach()
    }

    /// Makes a stream into a file, which is created if needed, and emptied unless `append` is true; nil if the URL is
    /// not a file URL.
    public override init?(url: URL, append shouldAppend: Bool) {
        guard url.isFileURL else { return nil }
        streams = BridgedStreams(WriteStream(path: url.path, append: shouldAppend))
        super.init(toMemory: ())
        attach()
    }

    init(_ streams: BridgedStreams) {
        self.streams = streams
        super.init(toMemory: ())
        attach()
    }

    private func attach() {
        relay.setOwner(self)
        streams.onNewOutput { [relay] in relay.follow(to: $0) }
    }

    deinit { streams.output?.close() }

    /// The underlying stream. Starting TLS on an open connection replaces it.
    public var writeStream: WriteStream {
        guard let output = streams.output else { preconditionFailure("an output front has an output") }
        return output
    }

    // MARK: Opening and closing

    /// Starts to open the stream and returns at once. An immediate failure appears in `streamStatus`.
    public override func open() {
        relay.opened()
        _ = Result { () throws(StreamError) in try writeStream.open() }
    }

    /// Closes the stream. No event follows. Removes the stream from all its run loops.
    public override func close() {
        writeStream.close()
        relay.closed()
    }

    /// The state of the stream.
    public override var streamStatus: Stream.Status { streams.visibleStatus(writeStream.status) }

    /// The error of a failed stream, as an `NSError`; otherwise nil.
    public override var streamError: (any Error)? { writeStream.error?.foundationError }

    // MARK: Writing

    /// Writes 1 to `len` bytes, blocking the thread. Returns their number, 0 if memory is full, -1 if the stream
    /// failed.
    public override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        do throws(StreamError) {
            return try writeStream.write(RawSpan(_unsafeStart: buffer, byteCount: len))
        } catch {
            return -1
        }
    }

    /// Whether a write would not wait: there is space or an error. False unless the stream is open.
    public override var hasSpaceAvailable: Bool { writeStream.canAcceptBytes }

    // MARK: Events

    /// The receiver of events on the run loops, held weakly. Without one, it is the stream itself.
    public override var delegate: (any StreamDelegate)? {
        get { relay.delegate ?? self }
        set {
            relay.delegate = newValue === self ? nil : newValue
            if newValue != nil { relay.attach(to: writeStream) }
        }
    }

    /// Does nothing: the default handling of events for a stream without a delegate.
    public func stream(_ aStream: Stream, handle eventCode: Stream.Event) {}

    /// Schedules the delivery of events on a run loop in a mode. A stream may be scheduled several times; each event is
    /// delivered once.
    public override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let target = RunLoopTarget(aRunLoop, mode: mode)
        writeStream.schedule(on: target)
        relay.schedule(on: target)
    }

    /// Ends the delivery of events on a run loop in a mode. Harmless if the stream was not scheduled there, and after
    /// `close()`.
    public override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let target = RunLoopTarget(aRunLoop, mode: mode)
        writeStream.unschedule(from: target)
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

/// Writes into the caller's memory. The stream is at its end when the memory is full.
final class CallerMemory: StreamTransport, @unchecked Sendable {
    // The stream ensures that only one writer at a time writes through the pointer.
    let waitPoint = WaitPoint()
    var kind: StreamKind { .writtenMemory }
    private let memory: UnsafeMutableRawBufferPointer
    private let used = Locked(0)

    init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
        self.memory = UnsafeMutableRawBufferPointer(start: memory, count: max(0, capacity))
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        used.withLock { used in
            let count = min(bytes.byteCount, memory.count - used)
            if count == 0 { return .ended }
            bytes.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count]))
            }
            used += count
            return .moved(count)
        }
    }

    func peek() throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt {
        let room = memory.count - used.withLock { $0 }
        return room == 0 ? .ended : .moved(room)
    }
}
