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
    // The locks protect all mutable state; the streams of StreamKit are thread-safe. A CFStream itself is used by one thread at a time, as
    // on Apple's systems, but each of a pair by its own, and TLS that begins on one of them replaces the streams below both.
    private struct Schedule {
        var targets: [RunLoopTarget] = []
        var hasReportedOpen = false
        /// Nil until the first setting.
        var settings: DictionarySettings?
    }
    private let schedule: Locked<Schedule>
    /// The properties in addition to those of Foundation's streams.
    private let keys: StreamKeys
    /// The stream below, or the two of its connection, with the properties of Foundation's streams.
    private let streams: BridgedStreams

    /// - Parameter settings: what both streams of a pair share.
    fileprivate init(_ streams: BridgedStreams, keys: StreamKeys, settings: DictionarySettings?) {
        self.streams = streams
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

    /// The stream below.
    var half: any StreamHalf { preconditionFailure("each subclass has a stream") }
    /// Whether a read or write would not wait.
    var isReady: Bool { false }
    /// What the stream remembers of the HTTP request that it sends; nil for other streams.
    var record: RequestRecord? { nil }

    func close() { half.close() }
    /// Ends the stream without its remaining transfer.
    fileprivate func abandon() { half.close() }
    /// Reports an event to CoreFoundation, with the error of a failed stream.
    fileprivate func signal(_ event: CFStreamEventType, _ error: CFError?) {}

    /// The status of the stream below.
    final var status: StreamStatus { half.status }
    /// The failure of the stream below.
    final var failure: StreamError? { half.error }
    /// The kind of the stream below.
    final var kind: StreamKind { half.kind }

    final func open() throws(StreamError) { try half.open() }

    /// The value of a property of the stream below.
    final func value<Value>(_ property: StreamProperty<Value>) -> Value? { half[property] }

    /// Sets a property of the stream below. Returns whether the stream honours the value.
    final func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool {
        (try? half.set(property, to: value)) != nil
    }

    /// The value of a property of Foundation's streams.
    final func foundationValue(_ key: String) -> AnyObject? { streams.property(forKey: .init(key)) }

    /// Sets a property of Foundation's streams. Returns whether the stream honours the value.
    final func setFoundationValue(_ value: AnyObject?, _ key: String) -> Bool {
        streams.setProperty(value, forKey: .init(key))
    }

    final func addTarget(_ target: RunLoopTarget) {
        let (isFirst, isNew) = schedule.withLock { schedule in
            if schedule.targets.contains(where: { $0.isSame(as: target) }) { return (false, false) }
            schedule.targets.append(target)
            return (schedule.targets.count == 1, true)
        }
        if isFirst { attachClient() }
        if isNew { half.schedule(on: target) }
    }

    final func removeTarget(_ target: RunLoopTarget) {
        let isLast = schedule.withLock { schedule in
            let count = schedule.targets.count
            schedule.targets.removeAll { $0.isSame(as: target) }
            return count > 0 && schedule.targets.isEmpty
        }
        half.unschedule(from: target)
        // CoreFoundation schedules a stream for the time of a blocking call. A client would cost later reads a third.
        if isLast { removeClient() }
    }

    private func attachClient() {
        half.setClient(.all) { [weak self] _, event in self?.report(event) }
    }

    private func removeClient() { half.setClient([], nil) }

    /// Moves the client and the schedule to the stream below from `old`, which it has replaced because TLS has begun; the two are the same
    /// if TLS cannot begin.
    fileprivate final func moveClient(from old: any StreamHalf) {
        let targets = schedule.withLock { $0.targets }
        if targets.isEmpty { return }
        attachClient()
        for target in targets {
            if old !== half { old.unschedule(from: target) }
            half.schedule(on: target)
        }
    }

    fileprivate final func report(_ event: StreamEvent) {
        guard isNew(event) else { return }
        let error = event == .errorOccurred ? failure?.cfError : nil
        defer { error?.release() }
        signal(CFStreamEventType(rawValue: event.rawValue), error?.takeUnretainedValue())
    }

    /// Whether an event is reported. A client that was removed and set again hears once more that the stream has opened.
    private func isNew(_ event: StreamEvent) -> Bool {
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
    // As in StreamState.
    private let current: Locked<ReadStream>
    /// The stream below.
    var reader: ReadStream { current.withLock { $0 } }
    /// The CFStream that owns this state. Set once, before the program has the stream.
    private weak var object: CFReadStream?

    private let httpRecord: RequestRecord?

    /// - Parameter streams: those of the connection, on which TLS may begin for both; nil for a stream on which it never does.
    init(
        _ reader: ReadStream, of streams: BridgedStreams? = nil, keys: StreamKeys = .socket,
        settings: DictionarySettings? = nil,
        record: RequestRecord? = nil
    ) {
        current = Locked(reader)
        httpRecord = record
        super.init(streams ?? BridgedStreams(reader), keys: keys, settings: settings)
        streams?.onNewInput { [weak self] new in self?.replace(by: new) }
    }

    private func replace(by new: ReadStream) {
        let old = current.withLock { stream in
            defer { stream = new }
            return stream
        }
        moveClient(from: old)
    }

    override var half: any StreamHalf { reader }
    override var summary: String { "read stream, \(status)" }
    override var isReady: Bool { reader.hasBytesAvailable }
    override var record: RequestRecord? { httpRecord }

    func attach(_ object: CFReadStream) { self.object = object }

    override fileprivate func abandon() {
        httpRecord?.processResponse()
        super.abandon()
    }

    override fileprivate func signal(_ event: CFStreamEventType, _ error: CFError?) {
        if let object { cfn_read_stream_signal(object, event, error) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int { try reader.read(into: buffer) }
}

/// The state of a CFWriteStream.
final class WriteStreamState: StreamState, @unchecked Sendable {
    // As in StreamState.
    private let current: Locked<WriteStream>
    /// The stream below.
    var writer: WriteStream { current.withLock { $0 } }
    /// Whether closing waits until the destination has confirmed everything that was written.
    private let finishesAtClose: Bool
    /// The CFStream that owns this state. Set once, before the program has the stream.
    private weak var object: CFWriteStream?

    /// - Parameter streams: those of the connection, on which TLS may begin for both; nil for a stream on which it never does.
    init(
        _ writer: WriteStream, of streams: BridgedStreams? = nil, keys: StreamKeys = .socket,
        settings: DictionarySettings? = nil,
        finishesAtClose: Bool = false
    ) {
        current = Locked(writer)
        self.finishesAtClose = finishesAtClose
        super.init(streams ?? BridgedStreams(writer), keys: keys, settings: settings)
        streams?.onNewOutput { [weak self] new in self?.replace(by: new) }
    }

    private func replace(by new: WriteStream) {
        let old = current.withLock { stream in
            defer { stream = new }
            return stream
        }
        moveClient(from: old)
    }

    override var half: any StreamHalf { writer }
    override var summary: String { "write stream, \(status)" }
    override var isReady: Bool { writer.canAcceptBytes }

    func attach(_ object: CFWriteStream) { self.object = object }

    override func close() {
        // CoreFoundation also closes a stream that is deallocated, which must not wait; its object is nil then.
        if finishesAtClose, status == .open, object != nil {
            do throws(StreamError) { try writer.finish() } catch { report(.errorOccurred) }
        }
        super.close()
    }

    override fileprivate func signal(_ event: CFStreamEventType, _ error: CFError?) {
        if let object { cfn_write_stream_signal(object, event, error) }
    }

    func write(_ bytes: RawSpan) throws(StreamError) -> Int { try writer.write(bytes) }
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
