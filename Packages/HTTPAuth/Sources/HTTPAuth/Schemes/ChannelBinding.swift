/// A value that binds an exchange to its TLS connection, so that it cannot be relayed over another connection.
///
/// The streams of StreamKit provide both kinds.
public enum ChannelBinding: Hashable, Sendable {
    /// The hash of the server's certificate (RFC 5929 §4), which Windows calls Extended Protection.
    case tlsServerEndPoint([UInt8])
    /// 32 bytes of keying material exported from the connection (RFC 9266).
    case tlsExporter([UInt8])

    /// The application data for GSSAPI and NTLM: the name of the kind, a colon and the bytes.
    public var applicationData: [UInt8] {
        switch self {
        case .tlsServerEndPoint(let hash): Array("tls-server-end-point:".utf8) + hash
        case .tlsExporter(let bytes): Array("tls-exporter:".utf8) + bytes
        }
    }
}
