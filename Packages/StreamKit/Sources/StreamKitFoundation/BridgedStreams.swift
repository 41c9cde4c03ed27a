internal import EventLoops
public import Foundation
public import StreamKit

/// One stream or the two of a connection, with their properties under Foundation's keys, and TLS that begins on the open connection for
/// both.
///
/// Foundation's streams and those of CoreFoundation stand on this; only the form of their events differs.
@_spi(CoreFoundation) public final class BridgedStreams: Sendable {
    private enum Content {
        case input(ReadStream)
        case output(WriteStream)
        case pair(StreamPair)
        /// TLS has begun on the open connection. For the users of its streams, the connection stayed open.
        case secured(StreamPair)
    }

    private struct State {
        var content: Content
        /// The level of security that was set by name.
        var level: String?
        var onNewInput: (@Sendable (ReadStream) -> Void)?
        var onNewOutput: (@Sendable (WriteStream) -> Void)?
    }

    private let state: Locked<State>

    /// The streams of a connection.
    @_spi(CoreFoundation) public init(_ pair: StreamPair) { state = Locked(State(content: .pair(pair))) }
    /// A stream that belongs to no connection, or whose other half is not used.
    @_spi(CoreFoundation) public init(_ input: ReadStream) { state = Locked(State(content: .input(input))) }
    /// A stream that belongs to no connection, or whose other half is not used.
    @_spi(CoreFoundation) public init(_ output: WriteStream) { state = Locked(State(content: .output(output))) }

    private var content: Content { state.withLock { $0.content } }

    private var pair: StreamPair? {
        switch content {
        case .pair(let pair), .secured(let pair): pair
        case .input, .output: nil
        }
    }

    var input: ReadStream? {
        switch content {
        case .input(let input): input
        case .output: nil
        case .pair(let pair), .secured(let pair): pair.input
        }
    }

    var output: WriteStream? {
        switch content {
        case .input: nil
        case .output(let output): output
        case .pair(let pair), .secured(let pair): pair.output
        }
    }

    /// The status to report. A handshake on an open stream is not visible in it.
    func visibleStatus(_ status: StreamStatus) -> Foundation.Stream.Status {
        let isHidden = if case .secured = content { status == .opening } else { false }
        return Foundation.Stream.Status(rawValue: UInt((isHidden ? .open : status).rawValue)) ?? .error
    }

    // MARK: Properties

    /// The value of a property of Foundation's streams; nil if it has none, or none yet.
    @_spi(CoreFoundation) public func property(forKey key: Foundation.Stream.PropertyKey) -> AnyObject? {
        FoundationProperty(key)?.value(of: self)
    }

    /// Sets a property of Foundation's streams; nil restores the default. Returns false if it cannot be set, or not any more.
    @_spi(CoreFoundation) public func setProperty(_ value: AnyObject?, forKey key: Foundation.Stream.PropertyKey)
        -> Bool
    {
        FoundationProperty(key)?.set(value, on: self) ?? false
    }

    func value<Value>(_ property: StreamProperty<Value>) -> Value? {
        switch content {
        case .input(let input): input[property]
        case .output(let output): output[property]
        case .pair(let pair), .secured(let pair): pair.input[property] ?? pair.output[property]
        }
    }

    /// Whether the streams honour the property.
    func honours<Value>(_ property: StreamProperty<Value>) -> Bool {
        input?.kind.honours(property) == true || output?.kind.honours(property) == true
    }

    func set<Value>(_ property: StreamProperty<Value>, to value: Value?) -> Bool {
        do throws(StreamError) {
            switch content {
            case .input(let input): try input.set(property, to: value)
            case .output(let output): try output.set(property, to: value)
            case .pair(let pair), .secured(let pair): try pair.set(property, to: value)
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
        guard set(.tls, to: configuration) || upgrade(with: configuration) else { return false }
        state.withLock { $0.level = level }
        return true
    }

    /// Starts TLS on the open connection.
    private func upgrade(with configuration: TLSConfiguration?) -> Bool {
        guard let configuration, case .pair(let plain) = content, plain[.tlsInformation] == nil,
            plain.input.status == .open,
            plain.output.status == .open
        else { return false }
        plain.input.setClient([], nil)
        plain.output.setClient([], nil)
        let secured: StreamPair
        do throws(StreamError) {
            secured = try StreamPair(
                securing: plain, with: configuration, peerName: plain[.remoteHostName], port: plain[.remotePort])
        } catch {
            announce(plain)
            return false
        }
        state.withLock { $0.content = .secured(secured) }
        announce(secured)
        // A failure is reported as an event and by the status.
        _ = Result { () throws(StreamError) in try secured.open() }
        return true
    }

    /// Sets a function that is called when TLS begins on the open connection, with the stream that replaces the input; with the same
    /// stream if TLS cannot begin. The stream has no client then, and a new one is not scheduled.
    @_spi(CoreFoundation) public func onNewInput(_ body: @escaping @Sendable (ReadStream) -> Void) {
        state.withLock { $0.onNewInput = body }
    }

    /// The same for the output.
    @_spi(CoreFoundation) public func onNewOutput(_ body: @escaping @Sendable (WriteStream) -> Void) {
        state.withLock { $0.onNewOutput = body }
    }

    private func announce(_ pair: StreamPair) {
        let (onNewInput, onNewOutput) = state.withLock { ($0.onNewInput, $0.onNewOutput) }
        onNewInput?(pair.input)
        onNewOutput?(pair.output)
    }
}
