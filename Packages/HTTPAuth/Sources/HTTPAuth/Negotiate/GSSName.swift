internal import CGSSAPI

/// Owns a name of GSSAPI.
final class GSSName {
    let handle: gss_name_t?

    /// A Kerberos principal as it is, which no DNS answer changes: `HTTP/www.example.org@EXAMPLE.ORG`.
    convenience init(principal: String) throws(HTTPAuthError) {
        try self.init(principal, netkit_GSS_KRB5_NT_PRINCIPAL_NAME())
    }

    /// A service of a host, `HTTP@www.example.org`, whose name the system may make canonical.
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
