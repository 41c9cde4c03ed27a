internal import CGSSAPI

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
