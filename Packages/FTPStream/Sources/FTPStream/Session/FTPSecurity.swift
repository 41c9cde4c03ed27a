public import StreamKit

/// How much of a session is encrypted: FTPS (RFC 4217).
///
/// ```swift
/// try stream.set(.ftpSecurity, to: .required)
/// ```
///
/// Without it, everything goes in clear, the password too: who is on the way reads it.
public struct FTPSecurity: Sendable, Hashable {
    /// When TLS begins on the control connection.
    public enum Control: Sendable, Hashable {
        /// Never.
        case off
        /// After AUTH TLS, if the server does that; else never. Whoever is on the way can make it never.
        case preferred
        /// After AUTH TLS; without it nothing is sent, no user name either.
        case required
        /// At once, on a port of its own (990).
        case implicit

        /// Nothing that identifies a user may be sent without TLS.
        var isMandatory: Bool { self == .required || self == .implicit }
    }

    /// Whether data connections are encrypted.
    public enum Data: Sendable, Hashable {
        /// No (PROT C).
        case off
        /// If the server does that (PROT P).
        case preferred
        /// Yes, or the session fails, before the log-in if the control connection cannot be encrypted.
        case required
    }

    /// When TLS begins on the control connection.
    public var control: Control

    /// Whether data connections are encrypted.
    ///
    /// TLS for data takes TLS on the control connection (RFC 4217 §9): anything but ``Data/off`` together with ``Control/off`` fails
    /// when a stream is opened.
    public var data: Data

    /// Go back to clear text on the control connection after the log-in (CCC), for firewalls that must read it.
    public var clearsControl = false

    /// Trust, identity and versions, for both connections.
    ///
    /// One other than the default demands TLS: together with a ``control`` of ``Control/off`` or ``Control/preferred``, opening
    /// fails. So it does if `tls` is set to a different configuration.
    public var configuration = TLSConfiguration()

    /// Makes a setting.
    ///
    /// - Parameters:
    ///   - control: the security of the control connection.
    ///   - data: the security of the data connections; nil (default) for ``Data/required``, and for ``Data/off`` if `control` is off.
    ///   - configuration: trust, identity and versions, for both connections.
    public init(control: Control, data: Data? = nil, configuration: TLSConfiguration = TLSConfiguration()) {
        self.control = control
        self.data = data ?? (control == .off ? .off : .required)
        self.configuration = configuration
    }

    /// Nothing is encrypted.
    public static let off = FTPSecurity(control: .off)
    /// Encrypted if the server can.
    public static let preferred = FTPSecurity(control: .preferred, data: .preferred)
    /// Both connections are encrypted, or nothing happens.
    public static let required = FTPSecurity(control: .required)
    /// As ``required``, with TLS from the first byte.
    public static let implicit = FTPSecurity(control: .implicit)
}
