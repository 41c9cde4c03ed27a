internal import Glibc
public import HostResolver

/// The conversation with a proxy up to the point where bytes pass through to the target. No I/O: bytes in, actions out.
///
/// StreamKit's own machine speaks SOCKS; other packages provide theirs, such as HTTPStream for HTTP's CONNECT. The driver
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
    /// Provides what TLS with the proxy has settled; all is nil if that connection has no TLS. Called once, before ``next()``.
    ///
    /// - Parameters:
    ///   - tls: the result of the handshake, with the protocol that the proxy has chosen by ALPN (RFC 7301).
    ///   - binding: the binding of an authentication to the connection (`tls-server-end-point`, RFC 5929).
    mutating func begin(over tls: TLSInformation?, boundBy binding: [UInt8]?)

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

    /// Returns the layer that carries the target's bytes over the connection with the proxy, once ``next()`` has returned `.established`:
    /// for a protocol that frames them. Nil (default) if they pass as they are. The surplus belongs to the layer then.
    ///
    /// The layer is open. The stream closes it, and it closes `lower`.
    func layer(over lower: any StreamTransport) -> (any StreamTransport)?
}

extension TunnelMachine {
    /// Ignores what TLS has settled.
    public mutating func begin(over tls: TLSInformation?, boundBy binding: [UInt8]?) {}

    /// No properties.
    public var properties: StreamProperties { StreamProperties() }

    /// No layer.
    public func layer(over lower: any StreamTransport) -> (any StreamTransport)? { nil }
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

/// Work that a ``TunnelMachine`` needs before it can continue, such as the request for a ticket. It starts without
/// blocking, and no thread waits for it.
///
/// ```swift
/// let action = TunnelAction.work(
///     TunnelWork { [tickets] done in
///         Task {
///             await tickets.store(requestTicket())
///             done()
///         }
///     })
/// ```
///
/// If the connection is closed meanwhile, the result is not used.
public final class TunnelWork: Sendable {
    private let start: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    /// - Parameter start: Called once. It returns soon, and calls `done`, on any thread, when the work is complete.
    public init(_ start: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        self.start = start
    }

    /// Starts the work.
    public func begin(_ done: @escaping @Sendable () -> Void) {
        start(done)
    }
}

extension TunnelWork: Hashable {
    /// Whether both are the same object.
    @_spi(Packages) public static func == (left: TunnelWork, right: TunnelWork) -> Bool { left === right }

    /// Hashes the identity of the object.
    @_spi(Packages) public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// The target that a proxy is asked to connect to: a name or an address, and a port.
///
/// Made from the target of the stream. A name is in the form sent to the proxy: ASCII, with international labels
/// converted (RFC 5890 §2.3.2.1). It is never looked up here.
public struct TunnelTarget: Sendable, Hashable {
    /// The name, or the address in its text form (IPv6 without brackets).
    public let host: String
    /// The port.
    public let port: UInt16
    /// The address, if the target is one.
    public let address: IPAddress?

    /// Makes a target from an address and a port.
    ///
    /// - Throws: `EINVAL` for an IPv6 address with a zone, which is valid only on this machine.
    public init(_ address: IPAddress, port: UInt16) throws(StreamError) {
        if case .v6(let address) = address, address.zone != nil {
            throw StreamError(
                posix: EINVAL, .targetNotForProxies(address.description, "its zone is valid only on this machine"))
        }
        self.address = address
        host = address.description
        self.port = port
    }

    /// Makes a target from a name, or from an address in text form, and a port.
    ///
    /// A name may be longer than the DNS allows, because a proxy may know names from elsewhere. The proxy's protocol
    /// refuses a name that it cannot carry.
    ///
    /// - Throws: `EINVAL` for a name with invalid bytes (control characters, spaces, `:`, `/`, `@`, …), and for one
    ///   that cannot be converted.
    public init(host: String, port: UInt16) throws(StreamError) {
        if let address = IPAddress(host) {
            try self.init(address, port: port)
            return
        }
        var name = host
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            do throws(ResolverError) {
                let converted = try HostName(host)
                if let address = converted.address {
                    self.init(host: address.description, address: address, port: port)
                    return
                }
                name = converted.ascii
            } catch {
                throw StreamError(posix: EINVAL, .targetNotForProxies(host, error.description), underlying: error)
            }
        }
        guard !name.isEmpty, name.utf8.allSatisfy(TunnelTarget.isNameByte) else {
            throw StreamError(
                posix: EINVAL, .targetNotForProxies(host, "it contains characters that are invalid in host names"))
        }
        self.init(host: name, address: nil, port: port)
    }

    private init(host: String, address: IPAddress?, port: UInt16) {
        self.host = host
        self.address = address
        self.port = port
    }

    /// Letters, digits, `-`, `.` and `_`: no byte that could end a line, a field or a name early.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}

extension TunnelTarget: CustomStringConvertible {
    /// `host:port`, with IPv6 in brackets.
    public var description: String {
        if case .v6 = address { "[\(host)]:\(port)" } else { "\(host):\(port)" }
    }
}
