// Streams of CoreFoundation as Foundation's streams, which they are on Apple's systems.

internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
@preconcurrency public import CoreFoundation
internal import Dispatch
public import Foundation

private let allEvents = CFOptionFlags(0b11111)

/// A `CFError` can be thrown, and assigned to an `Error`.
///
/// On Apple's systems it is an `NSError`, with the same properties.
extension CFError: @retroactive LocalizedError, @retroactive @unchecked Sendable {
    // Unchecked because the class belongs to CoreFoundation: an error never changes, and any thread may count its references.

    /// The text of `CFErrorCopyDescription`.
    public var errorDescription: String? { foundationError.userInfo[NSLocalizedDescriptionKey] as? String }

    // The requirements of Error from which Foundation makes an NSError.
    // swift-format-ignore: NoLeadingUnderscores
    /// The domain, such as `NSPOSIXErrorDomain`.
    public var _domain: String { foundationError.domain }
    // swift-format-ignore: NoLeadingUnderscores
    /// The code in the domain.
    public var _code: Int { CFErrorGetCode(self) }
}

extension CFError {
    /// The error as Foundation's; CFError is an NSError on Apple's systems only.
    fileprivate var foundationError: NSError {
        var userInfo: [String: Any] = [:]
        if let text = CFErrorCopyDescription(self) {
            let text: NSString = bridge(text)
            userInfo[NSLocalizedDescriptionKey] = text as String
        }
        let domain: NSString = bridge(CFErrorGetDomain(self))
        return NSError(domain: domain as String, code: CFErrorGetCode(self), userInfo: userInfo)
    }
}

/// Delivers an event to the delegate of a stream.
private func deliver(_ event: CFStreamEventType, to stream: Foundation.Stream) {
    stream.delegate?.stream(stream, handle: Foundation.Stream.Event(rawValue: event.rawValue))
}

/// Calls a function with the CoreFoundation object of a run loop, which Foundation on Linux does not show: on that run loop, unless
/// it is that of the calling thread or of the main thread.
private func withObject(
    _ loop: RunLoop, _ mode: RunLoop.Mode, _ use: @escaping (CFRunLoop?, CoreFoundation.CFString) -> Void
) {
    let mode = CFRunLoopMode(mode.rawValue as NSString).object
    if loop === RunLoop.current {
        use(CFRunLoopGetCurrent(), mode)
    } else if loop === RunLoop.main {
        use(CFRunLoopGetMain(), mode)
    } else {
        let action = Delivery { use(CFRunLoopGetCurrent(), mode) }
        loop.perform { action.run() }
    }
}

/// A function that runs on another run loop or queue.
private struct Delivery: @unchecked Sendable {
    // The function is called once, there, and not here. The stream that it captures may be used there, because the program has
    // scheduled the stream on that run loop or queue.
    let run: () -> Void
}

/// A CFReadStream as an InputStream.
final class ReadStreamObject: InputStream {
    let object: CoreFoundation.CFReadStream
    private weak var receiver: (any StreamDelegate)?
    private weak var client: StreamClient<InputStream>?
    /// The queue on which the client is called instead of on run loops.
    private(set) var queue: DispatchQueue?

    init(_ object: CoreFoundation.CFReadStream) {
        self.object = object
        super.init(data: Data())
    }

    deinit {
        if receiver != nil { CoreFoundation.CFReadStreamSetClient(object, 0, nil, nil) }
    }

    override func open() { CoreFoundation.CFReadStreamOpen(object) }
    override func close() { CoreFoundation.CFReadStreamClose(object) }
    override var streamStatus: Status {
        Status(rawValue: UInt(CoreFoundation.CFReadStreamGetStatus(object).rawValue)) ?? .error
    }
    override var streamError: (any Error)? { CoreFoundation.CFReadStreamCopyError(object)?.foundationError }
    override var hasBytesAvailable: Bool { CoreFoundation.CFReadStreamHasBytesAvailable(object) }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        CoreFoundation.CFReadStreamRead(object, buffer, maxLength)
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        guard let bytes = CoreFoundation.CFReadStreamGetBuffer(object, 0, length) else { return false }
        buffer.pointee = UnsafeMutablePointer(mutating: bytes)
        return true
    }

    override var delegate: (any StreamDelegate)? {
        get { receiver }
        set {
            receiver = newValue
            guard newValue != nil else {
                CoreFoundation.CFReadStreamSetClient(object, 0, nil, nil)
                return
            }
            _ = setClient(allEvents, nil) { stream, event, _ in stream.map { deliver(event, to: $0) } }
        }
    }

    override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
        leaveQueue()
        withObject(loop, mode) { [object] in CoreFoundation.CFReadStreamScheduleWithRunLoop(object, $0, $1) }
    }

    override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
        withObject(loop, mode) { [object] in CoreFoundation.CFReadStreamUnscheduleFromRunLoop(object, $0, $1) }
    }

    override func property(forKey key: PropertyKey) -> AnyObject? {
        CoreFoundation.CFReadStreamCopyProperty(object, bridge(key.rawValue as NSString))
    }

    override func setProperty(_ value: AnyObject?, forKey key: PropertyKey) -> Bool {
        CoreFoundation.CFReadStreamSetProperty(object, bridge(key.rawValue as NSString), value)
    }

    /// Sets the client of the CFReadStream.
    func setClient(
        _ events: CFOptionFlags, _ context: UnsafeMutablePointer<CFStreamClientContext>?,
        _ callBack: @escaping CFReadStreamClientCallBack
    ) -> Bool {
        let client = StreamClient<InputStream>(self, context, callBack)
        self.client = client
        return withExtendedLifetime(client) {
            var own = client.ownContext
            return CoreFoundation.CFReadStreamSetClient(
                object, events,
                { object, event, info in
                    guard let object, let info else { return }
                    let client = Unmanaged<StreamClient<InputStream>>.fromOpaque(info).takeUnretainedValue()
                    if let stream = client.stream as? ReadStreamObject, let queue = stream.queue {
                        let delivery = Delivery { [weak client, weak stream] in
                            if let client, stream?.client === client {
                                client.deliver(event) { ReadStreamObject(object) }
                            }
                        }
                        queue.async { delivery.run() }
                    } else {
                        client.deliver(event) { ReadStreamObject(object) }
                    }
                }, &own)
        }
    }

    /// Calls the client on a queue, and no longer on run loops; nil ends its events.
    func setQueue(_ queue: DispatchQueue?) {
        self.queue = queue
        cfn_read_stream_set_own_queue(object, queue != nil)
    }

    /// Calls the client on run loops.
    func leaveQueue() {
        if queue != nil { setQueue(nil) }
    }
}

/// A CFWriteStream as an OutputStream.
final class WriteStreamObject: OutputStream {
    let object: CoreFoundation.CFWriteStream
    private weak var receiver: (any StreamDelegate)?
    private weak var client: StreamClient<OutputStream>?
    /// The queue on which the client is called instead of on run loops.
    private(set) var queue: DispatchQueue?

    init(_ object: CoreFoundation.CFWriteStream) {
        self.object = object
        super.init(toMemory: ())
    }

    required init(toMemory: ()) {
        object = CoreFoundation.CFWriteStreamCreateWithAllocatedBuffers(nil, nil)
        super.init(toMemory: ())
    }

    deinit {
        if receiver != nil { CoreFoundation.CFWriteStreamSetClient(object, 0, nil, nil) }
    }

    override func open() { CoreFoundation.CFWriteStreamOpen(object) }
    override func close() { CoreFoundation.CFWriteStreamClose(object) }
    override var streamStatus: Status {
        Status(rawValue: UInt(CoreFoundation.CFWriteStreamGetStatus(object).rawValue)) ?? .error
    }
    override var streamError: (any Error)? { CoreFoundation.CFWriteStreamCopyError(object)?.foundationError }
    override var hasSpaceAvailable: Bool { CoreFoundation.CFWriteStreamCanAcceptBytes(object) }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength: Int) -> Int {
        CoreFoundation.CFWriteStreamWrite(object, buffer, maxLength)
    }

    override var delegate: (any StreamDelegate)? {
        get { receiver }
        set {
            receiver = newValue
            guard newValue != nil else {
                CoreFoundation.CFWriteStreamSetClient(object, 0, nil, nil)
                return
            }
            _ = setClient(allEvents, nil) { stream, event, _ in stream.map { deliver(event, to: $0) } }
        }
    }

    override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
        leaveQueue()
        withObject(loop, mode) { [object] in CoreFoundation.CFWriteStreamScheduleWithRunLoop(object, $0, $1) }
    }

    override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
        withObject(loop, mode) { [object] in CoreFoundation.CFWriteStreamUnscheduleFromRunLoop(object, $0, $1) }
    }

    override func property(forKey key: PropertyKey) -> AnyObject? {
        CoreFoundation.CFWriteStreamCopyProperty(object, bridge(key.rawValue as NSString))
    }

    override func setProperty(_ value: AnyObject?, forKey key: PropertyKey) -> Bool {
        CoreFoundation.CFWriteStreamSetProperty(object, bridge(key.rawValue as NSString), value)
    }

    /// Sets the client of the CFWriteStream.
    func setClient(
        _ events: CFOptionFlags, _ context: UnsafeMutablePointer<CFStreamClientContext>?,
        _ callBack: @escaping CFWriteStreamClientCallBack
    ) -> Bool {
        let client = StreamClient<OutputStream>(self, context, callBack)
        self.client = client
        return withExtendedLifetime(client) {
            var own = client.ownContext
            return CoreFoundation.CFWriteStreamSetClient(
                object, events,
                { object, event, info in
                    guard let object, let info else { return }
                    let client = Unmanaged<StreamClient<OutputStream>>.fromOpaque(info).takeUnretainedValue()
                    if let stream = client.stream as? WriteStreamObject, let queue = stream.queue {
                        let delivery = Delivery { [weak client, weak stream] in
                            if let client, stream?.client === client {
                                client.deliver(event) { WriteStreamObject(object) }
                            }
                        }
                        queue.async { delivery.run() }
                    } else {
                        client.deliver(event) { WriteStreamObject(object) }
                    }
                }, &own)
        }
    }

    /// Calls the client on a queue, and no longer on run loops; nil ends its events.
    func setQueue(_ queue: DispatchQueue?) {
        self.queue = queue
        cfn_write_stream_set_own_queue(object, queue != nil)
    }

    /// Calls the client on run loops.
    func leaveQueue() {
        if queue != nil { setQueue(nil) }
    }
}

// The objects below and above the functions.

/// The CFReadStream behind a stream. A stream of another class has none.
func object(_ stream: CFReadStream?) -> CoreFoundation.CFReadStream? { (stream as? ReadStreamObject)?.object }

/// The CFWriteStream behind a stream. A stream of another class has none.
func object(_ stream: CFWriteStream?) -> CoreFoundation.CFWriteStream? { (stream as? WriteStreamObject)?.object }

/// The CFReadStream behind a stream, or one that reads a stream of another class, such as the body of a request.
@usableFromInline
func readObject(_ stream: CFReadStream) -> CoreFoundation.CFReadStream {
    object(stream) ?? CFNReadStreamCreateWithInputStream(stream).takeRetainedValue()
}

@usableFromInline
func stream(_ created: Unmanaged<CoreFoundation.CFReadStream>) -> Unmanaged<CFReadStream> {
    guard let created = unsafeBitCast(created, to: Unmanaged<CoreFoundation.CFReadStream>?.self) else {
        return unsafeBitCast(Unmanaged<CFReadStream>?.none, to: Unmanaged<CFReadStream>.self)
    }
    return .passRetained(ReadStreamObject(created.takeRetainedValue()))
}

@usableFromInline
func stream(_ created: Unmanaged<CoreFoundation.CFWriteStream>) -> Unmanaged<CFWriteStream> {
    guard let created = unsafeBitCast(created, to: Unmanaged<CoreFoundation.CFWriteStream>?.self) else {
        return unsafeBitCast(Unmanaged<CFWriteStream>?.none, to: Unmanaged<CFWriteStream>.self)
    }
    return .passRetained(WriteStreamObject(created.takeRetainedValue()))
}
