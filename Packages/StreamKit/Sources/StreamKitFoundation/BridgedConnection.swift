internal import EventLoops
internal import Foundation
internal import RunLoopDelivery
internal import StreamKit

/// The streams behind one or two Foundation streams, and TLS that starts on an open connection for both of them.
final class BridgedConnection: Sendable {
    private struct State {
        var input: ReadStream?
        var output: WriteStream?
        var pair: StreamPair?
        /// Whether the handshake began on the open connection. For users of the Foundation streams, the connection
        /// stayed open.
        var isUpgraded = false
        var level: String?
        /// Called with the stream to use when TLS has replaced it, or could not.
        var onNewInput: (@Sendable (ReadStream) -> Void)?
        var onNewOutput: (@Sendable (WriteStream) -> Void)?
    }

    private let state: Locked<State>
    let inputRelay = DelegateRelay()
    let outputRelay = DelegateRelay()

    init(_ pair: StreamPair) {
        state = Locked(State(input: pair.input, output: pair.output, pair: pair))
    }

    init(_ input: ReadStream) {
        state = Locked(State(input: input))
    }

    init(_ output: WriteStream) {
        state = Locked(State(output: output))
    }

    var input: ReadStream? { state.withLock { $0.input } }
    var output: WriteStream? { state.withLock { $0.output } }
    var pair: StreamPair? { state.withLock { $0.pair } }

    /// The status to report. A handshake on an open stream is not visible in it.
    func visibleStatus(_ status: StreamStatus) -> Foundation.Stream.Status {
        let isHidden = status == .opening && state.withLock { $0.isUpgraded }
        return Foundation.Stream.Status(rawValue: UInt((isHidden ? .open : status).rawValue)) ?? .error
    }

    // MARK: Clients

    func attachInput() {
        guard let input else { return }
        let relay = inputRelay
        input.setClient(relay.wantedEvents) { _, event in relay.deliver(event) }
    }

    func attachOutput() {
        guard let output else { return }
        let relay = outputRelay
        output.setClient(relay.wantedEvents) { _, event in relay.deliver(event) }
    }

    // MARK: Properties

    func value<Value>(_ property: StreamProperty<Value>) -> Value? {
        let (input, output) = state.withLock { ($0.input, $0.output) }
        return input?[property] ?? output?[property]
    }

    /// Whether the streams honour the property.
    func honours<Value>(_ property: StreamProperty<Value>) -> Bool {
        let (input, output) = state.withLock { ($0.input, $0.output) }
        return input?.kind.honours(property) == true || output?.kind.honours(property) == true
    }

    func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool {
        let (input, output, pair) = state.withLock { ($0.input, $0.output, $0.pair) }
        do throws(StreamError) {
            if let pair {
                try pair.set(property, to: value)
            } else if let input {
                try input.set(property, to: value)
            } else {
                try output?.set(property, to: value)
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: TLS

    /// Whether this is a connection, which has a security level and may get another one.
    var isConnection: Bool { pair != nil && (honours(.tls) || value(.tlsInformation) != nil) }

    /// The security level that was set by name, to be returned when it is read.
    var level: String? { state.withLock { $0.level } }

    /// Starts TLS when the connection opens or, on an open connection, now. Nil turns TLS off, before the handshake.
    ///
    /// - Returns: false for a stream that would not use TLS, such as a request for an `http` URL.
    func secure(_ configuration: TLSConfiguration?, level: String?) -> Bool {
        guard honours(.tls), configuration == nil || value(.urlDemandsTLS) != false else { return false }
        let isSet =
            if set(.tls, to: configuration) {
                true
            } else if let pair, let configuration, pair.input.status == .open, pair.output.status == .open {
                upgrade(pair, with: configuration)
            } else {
                false
            }
        if isSet { state.withLock { $0.level = level } }
        return isSet
    }

    private func upgrade(_ plain: StreamPair, with configuration: TLSConfiguration) -> Bool {
        if state.withLock({ $0.isUpgraded }) || plain[.tlsInformation] != nil { return false }
        let secured: StreamPair
        do throws(StreamError) {
            plain.input.setClient([], nil)
            plain.output.setClient([], nil)
            secured = try StreamPair(
                securing: plain, with: configuration, peerName: plain[.remoteHostName], port: plain[.remotePort])
        } catch {
            reattach()
            return false
        }
        state.withLock { state in
            state.pair = secured
            state.input = secured.input
            state.output = secured.output
            state.isUpgraded = true
        }
        reattach()
        for target in inputRelay.targets { secured.input.schedule(on: target) }
        for target in outputRelay.targets { secured.output.schedule(on: target) }
        // A failure is reported as an event and by the status.
        _ = Result { () throws(StreamError) in try secured.open() }
        return true
    }

    func onNewInput(_ body: @escaping @Sendable (ReadStream) -> Void) { state.withLock { $0.onNewInput = body } }
    func onNewOutput(_ body: @escaping @Sendable (WriteStream) -> Void) { state.withLock { $0.onNewOutput = body } }

    private func reattach() {
        if inputRelay.hasClient { attachInput() }
        if outputRelay.hasClient { attachOutput() }
        let (onInput, onOutput) = state.withLock { ($0.onNewInput, $0.onNewOutput) }
        if let onInput, let input { onInput(input) }
        if let onOutput, let output { onOutput(output) }
    }
}

/// The delegate, the run loops and the lifetime of one Foundation stream.
///
/// Theory of operation. The stream below gets one client, this relay, as soon as there is a delegate. Events that occur
/// before wait, as for any stream without a client. The delegate is looked up at the time of each event, so that
/// delegates can change without an event being delivered twice.
final class DelegateRelay: @unchecked Sendable {
    // The lock protects all mutable state.
    private struct State {
        weak var delegate: (any StreamDelegate)?
        weak var owner: Foundation.Stream?
        /// The owner while it is open and scheduled, because nothing else may keep it alive (SK-076).
        var anchor: Foundation.Stream?
        var targets: [RunLoopTarget] = []
        var isOpened = false
        var isClosed = false
        var hasClient = false
        var hasDeliveredOpen = false
    }

    private let state = Locked(State())

    func setOwner(_ owner: Foundation.Stream) {
        let new = Unchecked(owner)
        state.withLock { $0.owner = new.value }
    }

    /// The delegate; nil if it is the stream itself.
    var delegate: (any StreamDelegate)? {
        get { state.withLock { state in Unchecked(state.delegate) }.value }
        set {
            let new = Unchecked(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// Records that the stream below gets a client. Returns false if it has one already.
    func takeClient() -> Bool {
        state.withLock { state in
            defer { state.hasClient = true }
            return !state.hasClient
        }
    }

    var hasClient: Bool { state.withLock { $0.hasClient } }

    /// The events for a client: all, but the opening only once.
    var wantedEvents: StreamEvents {
        state.withLock { $0.hasDeliveredOpen } ? StreamEvents.all.subtracting(.openCompleted) : .all
    }

    var targets: [RunLoopTarget] { state.withLock { $0.targets } }

    func schedule(on target: RunLoopTarget) {
        state.withLock { state in
            if state.isClosed || state.targets.contains(where: { $0.isSame(as: target) }) { return }
            state.targets.append(target)
            Self.anchor(&state)
        }
    }

    func unschedule(from target: RunLoopTarget) {
        let released = state.withLock { state -> Unchecked<Foundation.Stream?> in
            state.targets.removeAll { $0.isSame(as: target) }
            return Unchecked(state.targets.isEmpty ? state.anchor.take() : nil)
        }
        withExtendedLifetime(released) {}  // released after the lock
    }

    func opened() {
        state.withLock { state in
            state.isOpened = true
            Self.anchor(&state)
        }
    }

    func closed() {
        let released = state.withLock { state -> Unchecked<Foundation.Stream?> in
            state.isClosed = true
            state.targets = []
            return Unchecked(state.anchor.take())
        }
        withExtendedLifetime(released) {}
    }

    private static func anchor(_ state: inout State) {
        if state.isOpened, !state.isClosed, !state.targets.isEmpty { state.anchor = state.owner }
    }

    /// Delivers an event to the delegate, on the run loop.
    func deliver(_ event: StreamEvent) {
        let (owner, delegate) = state.withLock { state in
            if event == .openCompleted { state.hasDeliveredOpen = true }
            return (Unchecked(state.owner), Unchecked(state.delegate))
        }
        guard let owner = owner.value else { return }
        let own = owner as? any StreamDelegate
        (delegate.value ?? own)?.stream(owner, handle: Foundation.Stream.Event(rawValue: event.rawValue))
    }
}

/// Carries a reference out of a lock, to any thread that uses it.
private struct Unchecked<Value>: @unchecked Sendable {
    // Retaining and releasing are safe on any thread. The object is called only on the run loops its owner chose.
    let value: Value
    init(_ value: Value) { self.value = value }
}
