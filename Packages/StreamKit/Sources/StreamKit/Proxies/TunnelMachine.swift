/// The conversation with a proxy up to the point where bytes pass through to the target. No I/O: bytes in, actions out.
///
/// StreamKit's own machine speaks SOCKS; other packages provide theirs, such as NetKit for HTTP's CONNECT. The driver
/// asks for the ``next()`` action, performs it, and asks again:
///
/// ```swift
/// struct Knock: TunnelMachine {
///     private var hasKnocked = false, hasAnswer = false
///     mutating func next() throws(StreamError) -> TunnelAction {
///         if !hasKnocked { hasKnocked = true; return .send(Array("knock\n".utf8)) }
///         return hasAnswer ? .established("came in") : .receive(upTo: 1)
///     }
///     mutating func receive(_ bytes: [UInt8]) throws(StreamError) { hasAnswer = true }
///     mutating func receiveEnd() throws(StreamError) { throw StreamError(posix: 104) }
///     var refusal: TunnelRefusal? { nil }
/// }
/// ```
///
/// The machine must bound what a proxy can make it store.
public protocol TunnelMachine: Sendable {
    /// Provides the binding of an authentication to the TLS connection with the proxy (`tls-server-end-point`, RFC
    /// 5929); nil if that connection has no TLS. Called once, before ``next()``.
    mutating func begin(overTLSBoundBy binding: [UInt8]?)

    /// Returns the next action. It is not called again once it has thrown or returned `.established`.
    mutating func next() throws(StreamError) -> TunnelAction

    /// Processes bytes from the proxy: at least one, and no more than the last action asked for.
    mutating func receive(_ bytes: [UInt8]) throws(StreamError)

    /// Processes the end of the connection, which occurs only after `.receive`. Throws unless the end is a valid
    /// answer.
    mutating func receiveEnd() throws(StreamError)

    /// After an error: what the proxy refused, if it understood the request and answered. Nil if it did not get that
    /// far; then the next route to the target is tried, if there is one.
    var refusal: TunnelRefusal? { get }

    /// The stream properties that the conversation provides, during it and after it, also if it failed.
    var properties: StreamProperties { get }
}

extension TunnelMachine {
    /// Ignores the binding.
    public mutating func begin(overTLSBoundBy binding: [UInt8]?) {}

    /// No properties.
    public var properties: StreamProperties { StreamProperties() }
}

/// The next step of a ``TunnelMachine``.
public enum TunnelAction: Sendable, Hashable {
    /// Send all of these bytes.
    case send([UInt8])

    /// Read once, at most this many bytes, which is at least 1.
    case receive(upTo: Int)

    /// Perform this work, which may take a while, and then ask for the ``TunnelMachine/next()`` action.
    case work(TunnelWork)

    /// From now on bytes pass through. The text summarizes the conversation for the report. The surplus is what was
    /// received after its end: the first bytes from the target.
    case established(String, surplus: [UInt8] = [])
}

/// What a proxy refused in its answer.
public enum TunnelRefusal: Sendable, Hashable {
    /// This address: the proxy could not reach it. Another address of the same target may work.
    case address
    /// The request: because of rules or credentials, or a failure of the proxy. No other proxy is asked.
    case request
    /// This connection. A new machine for the same proxy, on a new connection, uses what this one has learned, such as
    /// the login that the proxy requires. A limited number of times; then as `request`.
    case connection
}
