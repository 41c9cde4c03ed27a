internal import COpenSSL

/// Values that tie an authentication to its TLS connection, so that it cannot be forwarded over another one.
enum ChannelBinding {
    /// `tls-server-end-point` (RFC 5929 §4): the server's certificate, hashed with the hash function of its signature,
    /// or with SHA-256 in place of MD5 and SHA-1. Nil for a signature without a separate hash function, such as
    /// Ed25519.
    static func serverEndPoint(_ ssl: OpaquePointer, isServer: Bool) -> [UInt8]? {
        guard let certificate = isServer ? SSL_get_certificate(ssl) : SSL_get0_peer_certificate(ssl) else { return nil }
        var function: CInt = 0
        guard X509_get_signature_info(certificate, &function, nil, nil, nil) == 1, function != NID_undef else {
            return nil
        }
        if function == NID_md5 || function == NID_sha1 || function == NID_md5_sha1 { function = NID_sha256 }
        let digest = OBJ_nid2sn(function).flatMap { EVP_get_digestbyname($0) }
        let hash = X509Text.digest(X509Handle.der(of: certificate), digest)
        return hash.isEmpty ? nil : hash
    }

    /// `tls-exporter` (RFC 9266 §4). Nil for a TLS 1.2 connection without protection against the triple handshake
    /// attack.
    static func exporter(_ ssl: OpaquePointer) -> [UInt8]? {
        guard SSL_version(ssl) >= CInt(TLSVersion.tls13.rawValue) || netkit_SSL_get_extms_support(ssl) == 1 else {
            return nil
        }
        let label = "EXPORTER-Channel-Binding"
        var value = [UInt8](repeating: 0, count: 32)
        let context: [UInt8] = []
        let isDone = SSL_export_keying_material(ssl, &value, value.count, label, label.utf8.count, context, 0, 1)
        if isDone == 1 { return value }
        ERR_clear_error()
        return nil
    }
}

extension StreamProperty where Value == [UInt8] {
    /// The channel binding `tls-server-end-point` (RFC 5929 §4), available once TLS is open: a hash of the server's
    /// certificate.
    public static var serverEndPointBinding: Self {
        .init(setting: "StreamKit.serverEndPointBinding", access: .readOnly)
    }

    /// The channel binding `tls-exporter` (RFC 9266), available once TLS is open: a value that only the two ends know.
    public static var exporterBinding: Self { .init(setting: "StreamKit.exporterBinding", access: .readOnly) }
}
