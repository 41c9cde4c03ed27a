internal import CGSSAPI
internal import Glibc

/// Owns a GSSAPI credential that can only initiate Kerberos logins.
///
/// Creating one may wait for the Kerberos server (keytab, password).
final class GSSCredential {
    let handle: gss_cred_id_t?

    /// Creates the credential of an identity that needs no password.
    ///
    /// `store` holds key-value pairs of a GSSAPI credential store: `ccache`, `client_keytab`. If it is empty, the
    /// system's defaults apply.
    init(principal: String?, store: [(key: String, value: String)]) throws(HTTPAuthError) {
        let name: GSSName? = if let principal { try GSSName(principal: principal) } else { nil }
        var credential: gss_cred_id_t?
        let strings = store.map { (strdup($0.key), strdup($0.value)) }
        defer {
            strings.forEach {
                free($0.0)
                free($0.1)
            }
        }
        var elements = strings.map { gss_key_value_element_desc(key: $0.0, value: $0.1) }
        let status = GSSStatus { minor in
            elements.withUnsafeMutableBufferPointer { elements in
                var set = gss_key_value_set_desc(count: OM_uint32(elements.count), elements: elements.baseAddress)
                return GSSCredential.withKerberos { mechanisms in
                    withUnsafePointer(to: &set) { set in
                        gss_acquire_cred_from(
                            minor, name?.handle, netkit_GSS_C_INDEFINITE(), mechanisms, GSS_C_INITIATE,
                            store.isEmpty ? nil : set, &credential, nil, nil)
                    }
                }
            }
        }
        handle = credential
        withExtendedLifetime(name) {}
        try status.check(principal.map { "getting a ticket for \($0)" } ?? "getting a ticket")
    }

    /// Creates the credential of a principal with a password. The ticket is fetched now and exists only as long as this
    /// object.
    init(principal: String, password: Secret) throws(HTTPAuthError) {
        let name = try GSSName(principal: principal)
        var credential: gss_cred_id_t?
        let status = password.withBytes { bytes in
            var buffer = gss_buffer_desc(
                length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return GSSStatus { minor in
                GSSCredential.withKerberos { mechanisms in
                    gss_acquire_cred_with_password(
                        minor, name.handle, &buffer, netkit_GSS_C_INDEFINITE(), mechanisms, GSS_C_INITIATE,
                        &credential, nil, nil)
                }
            }
        }
        handle = credential
        withExtendedLifetime(name) {}
        try status.check("getting a ticket for \(principal)")
    }

    deinit {
        var handle = handle
        var minor: OM_uint32 = 0
        _ = GSSLibrary.use { gss_release_cred(&minor, &handle) }
    }

    /// Calls `body` with a mechanism set that contains only Kerberos, so that mechanism plugins are not used.
    private static func withKerberos<Result>(_ body: (gss_OID_set) -> Result) -> Result {
        var set = gss_OID_set_desc(count: 1, elements: netkit_gss_mech_krb5())
        return body(&set)
    }
}
