internal import CGSSAPI

/// The realm that `krb5.conf` gives for a host.
enum KerberosRealm {
    /// The realm of `host` by the file's `domain_realm`; empty if it says nothing, which lets the user's own realm refer
    /// to the right one (RFC 6806). DNS is asked only if the file says `dns_lookup_realm`.
    static func of(host: String) throws(HTTPAuthError) -> String {
        guard let realm = GSSLibrary.use({ find(host) }) ?? nil else {
            throw .negotiate(.unavailable, "krb5.conf cannot be read")
        }
        return realm
    }

    private static func find(_ host: String) -> String? {
        var context: krb5_context?
        guard krb5_init_context(&context) == 0, let context else { return nil }
        defer { krb5_free_context(context) }
        var realms: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard krb5_get_host_realm(context, host, &realms) == 0, let realms else { return "" }
        defer { krb5_free_host_realm(context, realms) }
        return realms[0].map { String(cString: $0) } ?? ""
    }
}
