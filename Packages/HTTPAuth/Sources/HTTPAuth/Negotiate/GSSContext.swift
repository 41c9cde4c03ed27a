internal import CGSSAPI
internal import Glibc

/// Owns a GSSAPI security context: one Kerberos login, from the first token to the server's proof.
///
/// The first step fetches the service ticket and may wait for the Kerberos server. Later steps only compute.
final class GSSContext {
    /// The requested or granted properties of a context.
    struct Request: OptionSet {
        let rawValue: OM_uint32

        static let delegation = Request(rawValue: OM_uint32(GSS_C_DELEG_FLAG))
        static let delegationIfTrusted = Request(rawValue: OM_uint32(GSS_C_DELEG_POLICY_FLAG))
        static let mutual = Request(rawValue: OM_uint32(GSS_C_MUTUAL_FLAG))
        static let integrity = Request(rawValue: OM_uint32(GSS_C_INTEG_FLAG))
        static let channelBound = Request(rawValue: OM_uint32(GSS_C_CHANNEL_BOUND_FLAG))
    }

    private var handle: gss_ctx_id_t?
    private let target: GSSName
    private let credential: GSSCredential
    private let request: Request
    private let channelBinding: [UInt8]?
    private(set) var isEstablished = false
    private(set) var granted: Request = []

    init(target: GSSName, credential: GSSCredential, request: Request, channelBinding: [UInt8]?) {
        self.target = target
        self.credential = credential
        self.request = channelBinding == nil ? request : request.union(.channelBound)
        self.channelBinding = channelBinding
    }

    deinit {
        var minor: OM_uint32 = 0
        _ = GSSLibrary.use { gss_delete_sec_context(&minor, &handle, nil) }
    }

    /// Processes the server's token (nil for the first step) and returns the next token; empty if there is none.
    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8] {
        let output = GSSBuffer()
        var flags: OM_uint32 = 0
        let status = GSSStatus { minor in
            GSSBuffer.with(token ?? []) { input in
                withBinding { binding in
                    gss_init_sec_context(
                        minor, credential.handle, &handle, target.handle, netkit_gss_mech_krb5(), request.rawValue, 0,
                        binding, token == nil ? nil : input, nil, output.address, &flags, nil)
                }
            }
        }
        try status.check(token == nil ? "creating the first token" : "processing the server's token")
        isEstablished = !status.needsMore
        granted = Request(rawValue: flags)
        return output.bytes
    }

    /// Returns a signature of `message`.
    func signature(of message: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        let output = GSSBuffer()
        let status = GSSStatus { minor in
            GSSBuffer.with(message) { gss_get_mic(minor, handle, OM_uint32(GSS_C_QOP_DEFAULT), $0, output.address) }
        }
        try status.check("signing")
        return output.bytes
    }

    /// Throws if `signature` is not the server's signature of `message`.
    func check(_ signature: [UInt8], of message: [UInt8]) throws(HTTPAuthError) {
        let status = GSSStatus { minor in
            GSSBuffer.with(message) { message in
                GSSBuffer.with(signature) { gss_verify_mic(minor, handle, message, $0, nil) }
            }
        }
        if status.isError {
            throw .negotiate(.serverNotAuthentic, "wrong signature of the mechanism list")
        }
    }

    private func withBinding<Result>(_ body: (gss_channel_bindings_t?) -> Result) -> Result {
        guard let channelBinding else { return body(nil) }
        return GSSBuffer.with(channelBinding) { data in
            var structure = gss_channel_bindings_struct()
            structure.application_data = data.pointee
            return body(&structure)
        }
    }
}

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
