public import Foundation
internal import RunLoopDelivery
public import StreamKit

/// A `WriteStream` as Foundation's `OutputStream`: with a delegate that is called, run loops that work, and all properties.
///
/// ```swift
/// let output = BridgedOutputStream.toMemory()
/// output.open()
/// _ = output.write([1, 2, 3], maxLength: 3)
/// let bytes = output.property(forKey: .dataWrittenToMemoryStreamKey) as? Data
/// ```
///
/// The mirror image of ``BridgedInputStream``. Closing it does not end the peer's reading while the input of the same
/// connection is open, as on Apple's platforms; `writeStream.finish()` does.
public final class BridgedOutputStream: Foundation.OutputStream, StreamDelegate {
    let connection: BridgedConnection

    /// A front for a stream that is not open yet, or that is.
    public init(_ stream: WriteStream) {
        connection = BridgedConnection(stream)
        super.init(toMemory: ())
        connection.outputRelay.own(self)
    }

    /// A stream into memory that grows; what was written is `Stream.PropertyKey.dataWrittenToMemoryStreamKey`.
    public required init(toMemory: ()) {
        connection = BridgedConnection(WriteStream(toMemoryOfCapacity: nil))
        super.init(toMemory: ())
        connection.outputRelay.own(self)
    }

    /// A stream into the caller's memory, which must stay there while the stream does.
    ///
    /// When it is full, `write` gives 0 and the stream is at its end.
    public override init(toBuffer buffer: UnsafeMutablePointer<UInt8>, capacity: Int) {
        connection = BridgedConnection(WriteStream(transport: CallerMemory(buffer, capacity: capacity)))
        super.init(toMemory: ())
        connection.outputRelay.own(self)
    }

    /// A stream into a file, which is created if need be, and emptied unless it is to append; nil if the URL is no file URL.
    public override init?(url: URL, append shouldAppend: Bool) {
        guard url.isFileURL else { return nil }
        connection = BridgedConnection(WriteStream(path: url.path, append: shouldAppend))
        super.init(toMemory: ())
        connection.outputRelay.own(self)
    }

    init(_ connection: BridgedConnection) {
        self.connection = connection
        super.init(toMemory: ())
        connection.outputRelay.own(self)
    }

    deinit { connection.output?.close() }

    /// The stream behind this one. After TLS was started on an open connection it is another than before.
    public var writeStream: WriteStream {
        guard let output = connection.output else { preconditionFailure("an output front has an output") }
        return output
    }

    // MARK: Life

    /// Begins to open, and returns at once. What failed outright shows in `streamStatus`.
    public override func open() {
        connection.outputRelay.opened()
        _ = Result { () throws(StreamError) in try writeStream.open() }
    }

    /// Ends the flow; no event follows. On the loops where it was scheduled nothing is left to remove.
    public override func close() {
        writeStream.close()
        connection.outputRelay.closed()
    }

    /// How far the stream's life has come.
    public override var streamStatus: Stream.Status { connection.shown(writeStream.status) }

    /// Why the stream failed, as an `NSError`; nil while it has not.
    public override var streamError: (any Error)? { writeStream.error?.foundationError }

    // MARK: Writing

    /// Writes 1 to `len` bytes, waiting on the calling thread, and gives how many: 0 if memory is full, -1 when it failed.
    public override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        do throws(StreamError) {
            return try writeStream.write(RawSpan(_unsafeStart: buffer, byteCount: len))
        } catch {
            return -1
        }
    }

    /// True if a write would not wait: for room, or for an error. False unless the stream is open.
    public override var hasSpaceAvailable: Bool { writeStream.canAcceptBytes }

    // MARK: Events

    /// Who is told of events, on the run loops; not kept alive. The stream itself if there is none.
    public override var delegate: (any StreamDelegate)? {
        get { connection.outputRelay.delegate ?? self }
        set {
            connection.outputRelay.delegate = newValue === self ? nil : newValue
            if newValue != nil, connection.outputRelay.takeClient() { connection.attachOutput() }
        }
    }

    /// Nothing: what a stream without a delegate does with its events.
    public func stream(_ aStream: Stream, handle eventCode: Stream.Event) {}

    /// Has events told on a run loop, in a mode; any number of them, each event is told once.
    public override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let place = RunLoopTarget(aRunLoop, mode: mode)
        writeStream.schedule(on: place)
        connection.outputRelay.schedule(on: place)
    }

    /// Ends the telling on a run loop, in a mode. Harmless if it was not scheduled there, and after `close()`.
    public override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let place = RunLoopTarget(aRunLoop, mode: mode)
        writeStream.unschedule(from: place)
        connection.outputRelay.unschedule(from: place)
    }

    // MARK: Properties

    /// The value of a property; nil if it has none, or none yet.
    public override func property(forKey key: Stream.PropertyKey) -> AnyObject? {
        FoundationProperty(key)?.value(of: connection)
    }

    /// Sets a property; nil goes back to the default. False if it cannot be set, or not any more.
    public override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
        FoundationProperty(key)?.set(property, on: connection) ?? false
    }
}
