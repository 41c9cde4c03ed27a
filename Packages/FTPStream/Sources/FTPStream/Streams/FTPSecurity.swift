public import StreamKit

/// The encryption of a session: FTPS (RFC 4217).
///
/// ```swift
/// try stream.set(.ftp(\.security), to: .required)
/// ```
///
/// Without TLS, everything is sent in plaintext, including the password, and can be read on the network.
public struct FTPSecurity: Sendable, Hashable {
    /// When TLS begins on the control connection.
    public enum Control: Sendable, Hashable {
        /// Never.
        case off
        /// After AUTH TLS if the server supports it; otherwise never. An attacker on the network can prevent it.
        case preferred
        /// After AUTH TLS. If the server refuses, opening fails, and not even the user name is sent.
        case required
        /// From the first byte, on a separate port (990).
        case implicit

        /// Whether nothing that identifies a user may be sent without TLS.
        var isMandatory: Bool { self == .required || self == .implicit }
    }

    /// Whether data connections are encrypted.
    public enum Data: Sendable, Hashable {
        /// Never (PROT C).
        case off
        /// If the server supports it (PROT P).
        case preferred
        /// Always (PROT P). Otherwise the session fails, before the login if the control connection cannot be encrypted.
        case required
    }

    /// When TLS begins on the control connection.
    public var control: Control

    /// Whether data connections are encrypted.
    ///
    /// TLS on data connections requires TLS on the control connection (RFC 4217 §9): with ``Control/off``, opening a stream fails
    /// unless this is ``Data/off``.
    public var data: Data

    /// Whether the control connection returns to plaintext after the login (CCC), for firewalls that must read it. Default false.
    public var clearsControl = false

    /// Trust, identity and versions, for both connections.
    ///
    /// A configuration other than the default requires TLS: together with a ``control`` of ``Control/off`` or
    /// ``Control/preferred``, opening fails. It also fails if `tls` is set to a different configuration.
    public var configuration = TLSConfiguration()

    /// Creates a security setting.
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

    /// No encryption.
    public static let off = FTPSecurity(control: .off)
    /// Both connections are encrypted if the server supports it.
    public static let preferred = FTPSecurity(control: .preferred, data: .preferred)
    /// Both connections are encrypted, or opening fails.
    public static let required = FTPSecurity(control: .required)
    /// As ``required``, with TLS from the first byte.
    public static let implicit = FTPSecurity(control: .implicit)
}
