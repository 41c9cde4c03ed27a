internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import Foundation
internal import RunLoopDelivery
internal import StreamKit
@_spi(CoreFoundation) internal import StreamKitFoundation

/// The state of a CFReadStream or a CFWriteStream: a stream of StreamKit.
///
/// Theory of operation. CoreFoundation keeps the client, the status and the schedule, and calls the functions of
/// CFNetworkRuntime.h. The stream below has a client while it is scheduled. Its events arrive in the perform function of a
/// run loop source and are reported to CoreFoundation there: it calls its client at once, because the stream is scheduled on
/// that run loop.
///
/// The CFStream owns this state, and the state refers to it weakly: an event that arrives while another thread releases the
/// last reference is dropped.
class StreamState: ObjectState, @unchecked Sendable {
    // The lock protects all mutable state; the streams of StreamKit are thread-safe. A CFStream itself is used by one thread
    // at a time, as on Apple's systems.
    private struct Schedule {
        var targets: [RunLoopTarget] = []
        var hasReportedOpen = false
        /// Nil until the first setting.
        var settings: DictionarySettings?
    }
    private let schedule: Locked<Schedule>
    /// The properties in addition to those of Foundation's streams.
    private let keys: StreamKeys

    /// - Parameter settings: what both streams of a pair share.
    init(keys: StreamKeys, settings: DictionarySettings? = nil) {
        self.keys = keys
        schedule = Locked(Schedule(settings: settings))
    }

    /// The settings that were made by dictionaries.
    final var settings: DictionarySettings {
        schedule.withLock { schedule in
            if let settings = schedule.settings { return settings }
            let settings = DictionarySettings()
            schedule.settings = settings
            return settings
        }
    }

    /// The key under which a CFStream returns its state to functions of this library. Only this object is the key, and no program has
    /// it: another string with the same text names no property.
    nonisolated(unsafe) static let stateKey = cfString("CFNetwork.state").takeRetainedValue()

    /// The status of the stream below.
    var status: StreamStatus { .closed }
    /// The failure of the stream below.
    var failure: StreamError? { nil }
    /// Whether a read or write would not wait.
    var isReady: Bool { false }
    /// The kind of the stream below.
    var kind: StreamKind { .transport }
    /// What the stream remembers of the HTTP request that it sends; nil for other streams.
    var record: RequestRecord? { nil }

    func open() throws(StreamError) {}
    func close() {}
    fileprivate func attachClient() {}
    fileprivate func removeClient() {}
    fileprivate func add(_ target: RunLoopTarget) {}
    fileprivate func remove(_ target: RunLoopTarget) {}
    fileprivate func abandon() {}

    /// The value of a property of the stream below.
    func value<Value>(_ property: StreamProperty<Value>) -> Value? { nil }
    /// Sets a property of the stream below. Returns whether the stream honours the value.
    func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool { false }
    /// The value of a property of Foundation's streams.
    func foundationValue(_ key: String) -> AnyObject? { nil }
    /// Sets a property of Foundation's streams. Returns whether the stream honours the value.
    func setFoundationValue(_ value: AnyObject?, _ key: String) -> Bool { false }

    final func addTarget(_ target: RunLoopTarget) {
        let (isFirst, isNew) = schedule.withLock { schedule in
            if schedule.targets.contains(where: { $0.isSame(as: target) }) { return (false, false) }
            schedule.targets.append(target)
            return (schedule.targets.count == 1, true)
        }
        if isFirst { attachClient() }
        if isNew { add(target) }
    }

    final func removeTarget(_ target: RunLoopTarget) {
        let isLast = schedule.withLock { schedule in
            let count = schedule.targets.count
            schedule.targets.removeAll { $0.isSame(as: target) }
            return count > 0 && schedule.targets.isEmpty
        }
        remove(target)
        // CoreFoundation schedules a stream for the time of a blocking call. A client would cost later reads a third.
        if isLast { removeClient() }
    }

    /// Moves the client and the schedule to the stream below, which TLS on an open connection has replaced, and away from `old`.
    fileprivate final func moveTargets(from old: (RunLoopTarget) -> Void) {
        let targets = schedule.withLock { $0.targets }
        if targets.isEmpty { return }
        attachClient()
        for target in targets {
            old(target)
            add(target)
        }
    }

    /// Whether an event is reported. A client that was removed and set again hears once more that the stream has opened.
    fileprivate final func isNew(_ event: StreamEvent) -> Bool {
        guard event == .openCompleted else { return true }
        return schedule.withLock { schedule in
            defer { schedule.hasReportedOpen = true }
            return !schedule.hasReportedOpen
        }
    }

    /// The value of a property, as an object of CoreFoundation. Nil for a property that the stream does not have.
    final func copy(_ key: String) -> AnyObject? {
        if let key = keys[key] { return key.value(self) }
        return foundationValue(key)
    }

    /// Sets a property; nil restores the default. Returns whether the stream honours the value.
    final func set(_ value: AnyObject?, forKey name: String) -> Bool {
        if let key = keys[name] { return key.set?(self, value) ?? false }
        return setFoundationValue(value, name)
    }

    /// Ends all events: the CFStream is being deallocated. A write stream that was not closed abandons its transfer.
    final func detach() {
        removeClient()
        abandon()
    }
}

/// The state of a CFReadStream.
final class ReadStreamState: StreamState, @unchecked Sendable {
    // As in StreamState, one thread at a time uses the CFStream and with it the variables here: events arrive on the run loop on which
    // the program has scheduled the stream. The weak reference is set once, before the program has the stream.
    /// The stream below. Half of a pair has Foundation's form from the start, because it shares TLS with the other half; another
    /// stream gets it for Foundation's properties.
    private enum Below {
        case plain(ReadStream)
        case bridged(BridgedInputStream)
    }
    private var below: Below
    /// The CFStream that owns this state. Set once, before the stream can be used.
    private weak var object: CFReadStream?

    private let httpRecord: RequestRecord?

    init(_ stream: BridgedInputStream, keys: StreamKeys = .socket, settings: DictionarySettings? = nil) {
        below = .bridged(stream)
        httpRecord = nil
        super.init(keys: keys, settings: settings)
        stream.onReplacement { [weak self] new in self?.replace(by: new) }
    }

    init(_ stream: ReadStream, keys: StreamKeys, record: RequestRecord? = nil) {
        below = .plain(stream)
        httpRecord = record
        super.init(keys: keys)
    }

    override var summary: String { "read stream, \(status)" }
    override var status: StreamStatus { reader.status }
    override var failure: StreamError? { reader.error }
    override var isReady: Bool { reader.hasBytesAvailable }
    override var kind: StreamKind { reader.kind }
    override var record: RequestRecord? { httpRecord }

    /// The stream below.
    var reader: ReadStream {
        switch below {
        case .plain(let stream): stream
        case .bridged(let stream): stream.readStream
        }
    }

    /// The stream below in Foundation's form.
    private var bridged: BridgedInputStream {
        switch below {
        case .plain(let stream):
            let bridged = BridgedInputStream(stream)
            below = .bridged(bridged)
            return bridged
        case .bridged(let stream): return stream
        }
    }

    /// The stream below once it is open. TLS that begins on the open connection replaces it, on a thread that may use the stream.
    private var opened: ReadStream?

    private func replace(by new: ReadStream) {
        let old = opened
        if old != nil { opened = new }
        moveTargets { target in if let old, old !== new { old.unschedule(from: target) } }
    }

    func attach(_ object: CFReadStream) { self.object = object }

    override func open() throws(StreamError) {
        let reader = reader
        opened = reader
        try reader.open()
    }

    override func close() {
        switch below {
        case .plain(let stream): stream.close()
        case .bridged(let stream): stream.close()
        }
    }

    override fileprivate func abandon() {
        httpRecord?.processResponse()
        close()
    }

    override fileprivate func removeClient() { reader.setClient([], nil) }
    override fileprivate func add(_ target: RunLoopTarget) { reader.schedule(on: target) }
    override fileprivate func remove(_ target: RunLoopTarget) { reader.unschedule(from: target) }
    override func value<Value>(_ property: StreamProperty<Value>) -> Value? { reader[property] }

    override func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool {
        (try? reader.set(property, to: value)) != nil
    }

    override func foundationValue(_ key: String) -> AnyObject? { bridged.property(forKey: .init(key)) }

    override func setFoundationValue(_ value: AnyObject?, _ key: String) -> Bool {
        bridged.setProperty(value, forKey: .init(key))
    }

    override fileprivate func attachClient() {
        reader.setClient(.all) { [weak self] _, event in self?.report(event) }
    }

    private func report(_ event: StreamEvent) {
        guard let object, isNew(event) else { return }
        let error = event == .errorOccurred ? failure?.cfError : nil
        defer { error?.release() }
        cfn_read_stream_signal(object, CFStreamEventType(rawValue: event.rawValue), error?.takeUnretainedValue())
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        try (opened ?? reader).read(into: buffer)
    }
}

/// The state of a CFWriteStream.
final class WriteStreamState: StreamState, @unchecked Sendable {
    // As in ReadStreamState.
    private let stream: BridgedOutputStream
    /// Whether closing waits until the destination has confirmed everything that was written.
    private let finishesAtClose: Bool
    /// The CFStream that owns this state. Set once, before the stream can be used.
    private weak var object: CFWriteStream?

    init(
        _ stream: BridgedOutputStream, keys: StreamKeys = .socket, settings: DictionarySettings? = nil,
        finishesAtClose: Bool = false
    ) {
        self.stream = stream
        self.finishesAtClose = finishesAtClose
        super.init(keys: keys, settings: settings)
        stream.onReplacement { [weak self] new in self?.replace(by: new) }
    }

    /// The stream below when it was opened.
    private var opened: WriteStream?

    private func replace(by new: WriteStream) {
        let old = opened
        if old != nil { opened = new }
        moveTargets { target in if let old, old !== new { old.unschedule(from: target) } }
    }

    override var summary: String { "write stream, \(status)" }
    override var status: StreamStatus { stream.writeStream.status }
    override var failure: StreamError? { stream.writeStream.error }
    override var isReady: Bool { stream.hasSpaceAvailable }
    override var kind: StreamKind { stream.writeStream.kind }
    /// The stream below.
    var writer: WriteStream { stream.writeStream }

    func attach(_ object: CFWriteStream) { self.object = object }
    override func open() throws(StreamError) {
        let writer = writer
        opened = writer
        try writer.open()
    }

    override func close() {
        // CoreFoundation also closes a stream that is deallocated, which must not wait; its object is nil then.
        if finishesAtClose, status == .open, object != nil {
            do throws(StreamError) { try stream.writeStream.finish() } catch { report(.errorOccurred) }
        }
        stream.close()
    }

    override fileprivate func abandon() { stream.close() }
    override fileprivate func removeClient() { stream.writeStream.setClient([], nil) }
    override fileprivate func add(_ target: RunLoopTarget) { stream.writeStream.schedule(on: target) }
    override fileprivate func remove(_ target: RunLoopTarget) { stream.writeStream.unschedule(from: target) }
    override func value<Value>(_ property: StreamProperty<Value>) -> Value? { stream.writeStream[property] }

    override func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool {
        (try? stream.writeStream.set(property, to: value)) != nil
    }

    override func foundationValue(_ key: String) -> AnyObject? { stream.property(forKey: .init(key)) }

    override func setFoundationValue(_ value: AnyObject?, _ key: String) -> Bool {
        stream.setProperty(value, forKey: .init(key))
    }

    override fileprivate func attachClient() {
        stream.writeStream.setClient(.all) { [weak self] _, event in self?.report(event) }
    }

    private func report(_ event: StreamEvent) {
        guard let object, isNew(event) else { return }
        let error = event == .errorOccurred ? failure?.cfError : nil
        defer { error?.release() }
        cfn_write_stream_signal(object, CFStreamEventType(rawValue: event.rawValue), error?.takeUnretainedValue())
    }

    func write(_ bytes: RawSpan) throws(StreamError) -> Int { try stream.writeStream.write(bytes) }
}

/// The settings that programs have made by dictionaries, by the key of the property. The streams of a pair have the same ones.
final class DictionarySettings: Sendable {
    /// A dictionary that a program has set.
    private struct Value: @unchecked Sendable {
        // Any thread may read a dictionary that is not changed, and this is an immutable copy of the program's.
        let dictionary: NSDictionary
    }
    private let values = Locked<[String: Value]>([:])

    subscript(key: String) -> NSDictionary? {
        get { values.withLock { $0[key] }?.dictionary }
        set {
            let value = newValue.map { Value(dictionary: $0) }
            values.withLock { $0[key] = value }
        }
    }
}
