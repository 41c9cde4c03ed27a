internal import CGSSAPI

/// Owns a GSSAPI name.
final class GSSName {
    let handle: gss_name_t?

    /// Creates the name of a Kerberos principal, exactly as given and unaffected by DNS:
    /// `HTTP/www.example.org@EXAMPLE.ORG`.
    convenience init(principal: String) throws(HTTPAuthError) {
        try self.init(principal, netkit_GSS_KRB5_NT_PRINCIPAL_NAME())
    }

    /// Creates the name of a service on a host, `HTTP@www.example.org`. The system may canonicalize the host name.
    convenience init(hostBased service: String) throws(HTTPAuthError) {
        try self.init(service, netkit_GSS_C_NT_HOSTBASED_SERVICE())
    }

    private init(_ text: String, _ type: gss_OID?) throws(HTTPAuthError) {
        var name: gss_name_t?
        let status = GSSStatus { minor in
            GSSBuffer.with(Array(text.utf8)) { gss_import_name(minor, $0, type, &name) }
        }
        handle = name
        try status.check("importing the name \(text)")
    }

    deinit {
        var handle = handle
        var minor: OM_uint32 = 0
        _ = GSSLibrary.use { gss_release_name(&minor, &handle) }
    }
}
