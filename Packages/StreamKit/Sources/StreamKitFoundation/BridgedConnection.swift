internal import EventLoops
internal import Foundation
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

    private func reattach() {
        if inputRelay.hasClient { attachInput() }
        if outputRelay.hasClient { attachOutput() }
    }
}
