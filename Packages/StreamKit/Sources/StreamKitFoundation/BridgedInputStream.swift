public import Foundation
internal import RunLoopDelivery
public import StreamKit

/// A `ReadStream` as Foundation's `InputStream`: with a delegate that is called, run loops that work, and all properties.
///
/// ```swift
/// var input: InputStream?
/// var output: OutputStream?
/// Stream.getStreamsToHost(withName: "localhost", port: 7, inputStream: &input, outputStream: &output)
/// input?.delegate = self
/// input?.schedule(in: .current, forMode: .default)
/// input?.open()
/// ```
///
/// Foundation's own class on Linux stores a delegate and never calls it, and traps when asked for the error of a stream that
/// has none. Every member is implemented here, over any `ReadStream`: a connection, a file, memory, or one that another
/// package makes. As on Apple's platforms, a stream is used by one thread at a time; unlike there, `close()` may come from
/// another thread and ends a read that waits.
///
/// A scheduled, open stream is kept alive until it is closed or removed from its run loops.
public final class BridgedInputStream: Foundation.InputStream, StreamDelegate {
    let connection: BridgedConnection
    private let memorySize: Int?
    /// What ``getBuffer(_:length:)`` lent last.
    private var lent: UnsafeMutableBufferPointer<UInt8>?

    /// A front for a stream that is not open yet, or that is.
    public init(_ stream: ReadStream) {
        connection = BridgedConnection(stream)
        memorySize = nil
        super.init(data: Data())
        connection.inputRelay.own(self)
    }

    /// A stream of bytes in memory.
    public override init(data: Data) {
        connection = BridgedConnection(ReadStream(bytes: Array(data)))
        memorySize = data.count
        super.init(data: Data())
        connection.inputRelay.own(self)
    }

    /// A stream of a file's bytes; nil if the URL is no file URL. A file that is not there fails `open()`.
    public override init?(url: URL) {
        guard url.isFileURL else { return nil }
        connection = BridgedConnection(ReadStream(path: url.path))
        memorySize = nil
        super.init(data: Data())
        connection.inputRelay.own(self)
    }

    init(_ connection: BridgedConnection) {
        self.connection = connection
        memorySize = nil
        super.init(data: Data())
        connection.inputRelay.own(self)
    }

    deinit {
        connection.input?.close()
        lent?.deallocate()
    }

    /// The stream behind this one. After TLS was started on an open connection it is another than before.
    public var readStream: ReadStream {
        guard let input = connection.input else { preconditionFailure("an input front has an input") }
        return input
    }

    // MARK: Life

    /// Begins to open, and returns at once. What failed outright shows in `streamStatus`.
    public override func open() {
        connection.inputRelay.opened()
        _ = Result { () throws(StreamError) in try readStream.open() }
    }

    /// Ends the flow; no event follows. On the loops where it was scheduled nothing is left to remove.
    public override func close() {
        readStream.close()
        connection.inputRelay.closed()
    }

    /// How far the stream's life has come.
    public override var streamStatus: Stream.Status { connection.shown(readStream.status) }

    /// Why the stream failed, as an `NSError`; nil while it has not.
    public override var streamError: (any Error)? { readStream.error?.foundationError }

    // MARK: Reading

    /// Reads 1 to `len` bytes, waiting on the calling thread: 0 at the end, -1 when it failed or is not open.
    public override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        do throws(StreamError) {
            return try readStream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: len))
        } catch {
            return -1
        }
    }

    /// Lends what a stream in memory still has, and counts it as read; false for every other stream.
    ///
    /// The bytes are valid until the next call of this member, and until the stream goes.
    public override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool {
        guard let memorySize, memorySize > 0, readStream.status == .open else { return false }
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: memorySize)
        let count = read(memory.baseAddress.unsafelyUnwrapped, maxLength: memorySize)
        guard count > 0 else {
            memory.deallocate()
            return false
        }
        lent?.deallocate()
        lent = memory
        buffer.pointee = memory.baseAddress
        len.pointee = count
        return true
    }

    /// True if a read would not wait: for bytes, for the end, or for an error. False unless the stream is open.
    public override var hasBytesAvailable: Bool { readStream.hasBytesAvailable }

    // MARK: Events

    /// Who is told of events, on the run loops; not kept alive. The stream itself if there is none.
    public override var delegate: (any StreamDelegate)? {
        get { connection.inputRelay.delegate ?? self }
        set {
            connection.inputRelay.delegate = newValue === self ? nil : newValue
            if newValue != nil, connection.inputRelay.takeClient() { connection.attachInput() }
        }
    }

    /// Nothing: what a stream without a delegate does with its events.
    public func stream(_ aStream: Stream, handle eventCode: Stream.Event) {}

    /// Has events told on a run loop, in a mode; any number of them, each event is told once.
    public override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let place = RunLoopTarget(aRunLoop, mode: mode)
        readStream.schedule(on: place)
        connection.inputRelay.schedule(on: place)
    }

    /// Ends the telling on a run loop, in a mode. Harmless if it was not scheduled there, and after `close()`.
    public override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        let place = RunLoopTarget(aRunLoop, mode: mode)
        readStream.unschedule(from: place)
        connection.inputRelay.unschedule(from: place)
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
