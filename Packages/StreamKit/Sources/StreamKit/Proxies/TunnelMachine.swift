/// The conversation with a proxy up to the point where bytes go through to the target. No I/O: bytes in, actions out.
///
/// StreamKit's own machine speaks SOCKS; other packages bring theirs, as NetKit does for HTTP's CONNECT. Whoever drives it
/// asks for the ``next()`` action, does it, and asks again:
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
/// What a proxy can make a machine remember must be bounded by the machine.
public protocol TunnelMachine: Sendable {
    /// Called once, before ``next()``: what ties an authentication to the TLS connection with the proxy
    /// (`tls-server-end-point`, RFC 5929); nil if that connection has no TLS.
    mutating func begin(overTLSBoundBy binding: [UInt8]?)

    /// What to do now. Once it has thrown or said `.established`, it is not asked again.
    mutating func next() throws(StreamError) -> TunnelAction

    /// Takes what the proxy sent: at least one byte, and no more than the last action asked for.
    mutating func receive(_ bytes: [UInt8]) throws(StreamError)

    /// The proxy ended the connection; only asked after `.receive`. Throws unless that is an answer, too.
    mutating func receiveEnd() throws(StreamError)

    /// Once it has thrown: what the proxy refused, if it understood and answered. Nil if it did not get that far; then
    /// another way to the target is tried, if there is one.
    var refusal: TunnelRefusal? { get }

    /// What streams can be asked about the conversation, during it and after it, also if it failed.
    var properties: StreamProperties { get }
}

extension TunnelMachine {
    /// Ignores it.
    public mutating func begin(overTLSBoundBy binding: [UInt8]?) {}

    /// Nothing.
    public var properties: StreamProperties { StreamProperties() }
}

/// What a ``TunnelMachine`` wants done.
public enum TunnelAction: Sendable, Hashable {
    /// Send all of these bytes.
    case send([UInt8])

    /// Read once, at most this many bytes, which is at least 1.
    case receive(upTo: Int)

    /// Have this done, which may take a while, and ask for the ``TunnelMachine/next()`` action when it is done.
    case work(TunnelWork)

    /// From here on bytes go through. In a few words for the report; and what was received behind the conversation's end:
    /// the first bytes from the target.
    case established(String, surplus: [UInt8] = [])
}

/// What a proxy that answered has refused.
public enum TunnelRefusal: Sendable, Hashable {
    /// This address: it could not be reached from there. Another address of the same target may do better.
    case address
    /// The request: because of rules or credentials, or because it failed in its own way. Nobody else is asked.
    case request
    /// This connection: another machine for the same proxy, on a new connection, knows what this one has learned, such as
    /// how the proxy wants the client to log in. A limited number of times, then as `request`.
    case connection
}
