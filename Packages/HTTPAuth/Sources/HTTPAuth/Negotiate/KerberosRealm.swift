internal import CGSSAPI

/// The realm that `krb5.conf` assigns to a host.
enum KerberosRealm {
    /// Returns the realm of `host` in `domain_realm`. The result is empty if there is none; the user's realm then
    /// refers to the right one (RFC 6806). DNS is queried only if `krb5.conf` sets `dns_lookup_realm`.
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
