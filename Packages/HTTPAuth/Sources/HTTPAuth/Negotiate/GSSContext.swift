internal import CGSSAPI
internal import Glibc

/// Owns a GSSAPI security context: one Kerberos login, from the first token to the server's proof.
///
/// The first step fetches the service ticket and may wait for the Kerberos server. Later steps only compute.
final class GSSContext {
    /// The requested or granted properties of a context (RFC 2744 section 5.19, RFC 5896, and MIT Kerberos for channel
    /// bindings).
    struct Request: OptionSet {
        let rawValue: UInt32

        static let delegation = Request(rawValue: 1)
        static let delegationIfTrusted = Request(rawValue: 0x8000)
        static let mutual = Request(rawValue: 2)
        static let integrity = Request(rawValue: 0x20)
        static let channelBound = Request(rawValue: 0x800)
    }

    private var handle: netkit_gss_context?
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
        var minor: UInt32 = 0
        _ = GSSLibrary.use { $0.deleteContext(&minor, &handle, nil) }
    }

    /// Processes the server's token (nil for the first step) and returns the next token; empty if there is none.
    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8] {
        let output = GSSBuffer()
        var flags: UInt32 = 0
        let status = GSSStatus { library, minor in
            GSSBuffer.with(token ?? []) { input in
                withBinding { binding in
                    library.initializeContext(
                        minor, credential.handle, &handle, target.handle, netkit_gss_kerberos(), request.rawValue, 0,
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
        let status = GSSStatus { library, minor in
            GSSBuffer.with(message) { library.sign(minor, handle, 0, $0, output.address) }
        }
        try status.check("signing")
        return output.bytes
    }

    /// Throws if `signature` is not the server's signature of `message`.
    func check(_ signature: [UInt8], of message: [UInt8]) throws(HTTPAuthError) {
        let status = GSSStatus { library, minor in
            GSSBuffer.with(message) { message in
                GSSBuffer.with(signature) { library.verify(minor, handle, message, $0, nil) }
            }
        }
        if status.isError {
            throw .negotiate(.serverNotAuthentic, "wrong signature of the mechanism list")
        }
    }

    private func withBinding<Result>(_ body: (UnsafeMutablePointer<netkit_gss_channel_bindings>?) -> Result) -> Result {
        guard let channelBinding else { return body(nil) }
        return GSSBuffer.with(channelBinding) { data in
            var structure = netkit_gss_channel_bindings()
            structure.application_data = data.pointee
            return body(&structure)
        }
    }
}

/// Owns a GSSAPI credential that can only initiate Kerberos logins.
///
/// Creating one may wait for the Kerberos server (keytab, password).
final class GSSCredential {
    let handle: netkit_gss_credential?

    /// `GSS_C_INDEFINITE`: as long as possible.
    private static let indefinite = UInt32.max
    /// `GSS_C_INITIATE`: not for accepting logins.
    private static let initiate: CInt = 1

    /// Creates the credential of an identity that needs no password.
    ///
    /// `store` holds key-value pairs of a GSSAPI credential store: `ccache`, `client_keytab`. If it is empty, the
    /// system's defaults apply.
    init(principal: String?, store: [(key: String, value: String)]) throws(HTTPAuthError) {
        let name: GSSName? = if let principal { try GSSName(principal: principal) } else { nil }
        var credential: netkit_gss_credential?
        let strings = store.map { (strdup($0.key), strdup($0.value)) }
        defer {
            strings.forEach {
                free($0.0)
                free($0.1)
            }
        }
        var elements = strings.map { netkit_gss_store_element(key: $0.0, value: $0.1) }
        let status = GSSStatus { library, minor in
            elements.withUnsafeMutableBufferPointer { elements in
                var set = netkit_gss_store(count: UInt32(elements.count), elements: elements.baseAddress)
                return GSSCredential.withKerberos { mechanisms in
                    withUnsafePointer(to: &set) { set in
                        library.acquireCredential(
                            minor, name?.handle, GSSCredential.indefinite, mechanisms, GSSCredential.initiate,
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
        var credential: netkit_gss_credential?
        let status = password.withBytes { bytes in
            var buffer = netkit_gss_buffer(
                length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return GSSStatus { library, minor in
                GSSCredential.withKerberos { mechanisms in
                    library.acquireCredentialWithPassword(
                        minor, name.handle, &buffer, GSSCredential.indefinite, mechanisms, GSSCredential.initiate,
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
        var minor: UInt32 = 0
        _ = GSSLibrary.use { $0.releaseCredential(&minor, &handle) }
    }

    /// Calls `body` with a mechanism set that contains only Kerberos, so that mechanism plugins are not used.
    private static func withKerberos<Result>(_ body: (UnsafeMutablePointer<netkit_gss_oid_set>) -> Result) -> Result {
        var set = netkit_gss_oid_set(count: 1, elements: netkit_gss_kerberos())
        return body(&set)
    }
}

/// Owns a GSSAPI name.
final class GSSName {
    let handle: netkit_gss_name?

    /// Creates the name of a Kerberos principal, exactly as given and unaffected by DNS:
    /// `HTTP/www.example.org@EXAMPLE.ORG`.
    convenience init(principal: String) throws(HTTPAuthError) {
        try self.init(principal, netkit_gss_kerberos_principal())
    }

    /// Creates the name of a service on a host, `HTTP@www.example.org`. The system may canonicalize the host name.
    convenience init(hostBased service: String) throws(HTTPAuthError) {
        try self.init(service, netkit_gss_host_based_service())
    }

    private init(_ text: String, _ type: UnsafeMutablePointer<netkit_gss_oid>?) throws(HTTPAuthError) {
        var name: netkit_gss_name?
        let status = GSSStatus { library, minor in
            GSSBuffer.with(Array(text.utf8)) { library.importName(minor, $0, type, &name) }
        }
        handle = name
        try status.check("importing the name \(text)")
    }

    deinit {
        var handle = handle
        var minor: UInt32 = 0
        _ = GSSLibrary.use { $0.releaseName(&minor, &handle) }
    }
}
