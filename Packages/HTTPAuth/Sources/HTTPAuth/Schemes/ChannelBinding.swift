/// What ties an exchange to the TLS connection that carries it, so that it cannot be relayed over another.
///
/// StreamKit's streams give both kinds.
public enum ChannelBinding: Hashable, Sendable {
    /// The hash of the server's certificate (RFC 5929 §4): what Windows calls Extended Protection.
    case tlsServerEndPoint([UInt8])
    /// 32 bytes exported from the connection (RFC 9266).
    case tlsExporter([UInt8])

    /// What GSSAPI and NTLM take as application data: the name of the kind, a colon, the bytes.
    public var applicationData: [UInt8] {
        switch self {
        case .tlsServerEndPoint(let hash): Array("tls-server-end-point:".utf8) + hash
        case .tlsExporter(let bytes): Array("tls-exporter:".utf8) + bytes
        }
    }
}
