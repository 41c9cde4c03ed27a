internal import CGSSAPI

/// The result of a GSSAPI call. All results are checked and converted into errors here.
struct GSSStatus {
    var major: OM_uint32
    var minor: OM_uint32 = 0

    /// Performs a call, which writes its minor status to its argument.
    init(_ call: (UnsafeMutablePointer<OM_uint32>) -> OM_uint32) {
        var minor: OM_uint32 = 0
        major = GSSLibrary.use { call(&minor) } ?? netkit_GSS_S_UNAVAILABLE
        self.minor = minor
    }

    var isError: Bool { netkit_GSS_ERROR(major) != 0 }

    var needsMore: Bool { !isError && major & netkit_GSS_S_CONTINUE_NEEDED != 0 }

    /// Throws if the call failed. `what` names the operation, for the message.
    func check(_ what: String) throws(HTTPAuthError) {
        if isError { throw .negotiate(code, "\(what): \(text)") }
    }

    /// The error code for the status.
    private var code: HTTPAuthError.Code {
        // The minor status, a Kerberos error, is more specific. The GSSAPI routine error decides only if that error is
        // not one of these.
        switch Int(Int32(bitPattern: minor)) {
        case KRB5KRB_AP_ERR_TKT_EXPIRED, KRB5KDC_ERR_NAME_EXP, KRB5KRB_AP_ERR_TKT_NYV: return .ticketExpired
        case KRB5KRB_AP_ERR_SKEW, KRB5_KDCREP_SKEW, KRB5KDC_ERR_NEVER_VALID: return .clockSkew
        case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, KRB5_ERR_HOST_REALM_UNKNOWN: return .serviceUnknown
        case KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE, KRB5_REALM_UNKNOWN: return .kerberosUnreachable
        case KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, KRB5KDC_ERR_PREAUTH_FAILED, KRB5KRB_AP_ERR_BAD_INTEGRITY,
            KRB5KDC_ERR_KEY_EXP, KRB5KDC_ERR_CLIENT_REVOKED:
            return .credentialRefused
        case KRB5_FCC_NOFILE, KRB5_CC_NOTFOUND, KRB5_FCC_PERM, KRB5_KT_NOTFOUND:
            return .ticketMissing
        case KRB5KRB_AP_ERR_MODIFIED, KRB5KRB_AP_WRONG_PRINC, KRB5KRB_AP_ERR_NOT_US, KRB5KRB_AP_ERR_BADKEYVER:
            return .exchangeRefused
        default: break
        }
        switch netkit_GSS_ROUTINE_ERROR(major) {
        case netkit_GSS_S_NO_CRED: return .ticketMissing
        case netkit_GSS_S_CREDENTIALS_EXPIRED: return .ticketExpired
        case netkit_GSS_S_BAD_BINDINGS: return .serverNotAuthentic
        case netkit_GSS_S_DEFECTIVE_TOKEN: return .malformedToken
        case netkit_GSS_S_UNAVAILABLE: return .unavailable
        default: return .mechanismFailed
        }
    }

    /// The library's message for the Kerberos error or, if there is none, for the GSSAPI error.
    private var text: String {
        let messages = minor == 0 ? [] : GSSStatus.displayStatus(minor, GSS_C_MECH_CODE, netkit_gss_mech_krb5())
        return (messages.isEmpty ? GSSStatus.displayStatus(major, GSS_C_GSS_CODE, nil) : messages).joined(
            separator: "; ")
    }

    private static func displayStatus(_ number: OM_uint32, _ kind: Int32, _ mechanism: gss_OID?) -> [String] {
        var messages: [String] = []
        var context: OM_uint32 = 0
        repeat {
            var minor: OM_uint32 = 0
            let message = GSSBuffer()
            let status = GSSLibrary.use {
                gss_display_status(&minor, number, kind, mechanism, &context, message.address)
            }
            guard status == 0 else { break }
            messages.append(String(decoding: message.bytes, as: UTF8.self))
        } while context != 0 && messages.count < 8
        return messages
    }
}

/// Owns a buffer that GSSAPI fills.
final class GSSBuffer {
    /// The address that GSSAPI writes its result to. It is valid as long as this object.
    let address: UnsafeMutablePointer<gss_buffer_desc>

    init() {
        address = .allocate(capacity: 1)
        address.initialize(to: gss_buffer_desc(length: 0, value: nil))
    }

    deinit {
        var minor: OM_uint32 = 0
        _ = GSSLibrary.use { gss_release_buffer(&minor, address) }
        address.deallocate()
    }

    /// A copy of the contents.
    var bytes: [UInt8] {
        guard let start = address.pointee.value else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: address.pointee.length))
    }

    /// Calls `body` with a GSSAPI buffer of `bytes`, which GSSAPI only reads.
    static func with<Result>(
        _ bytes: [UInt8], _ body: (UnsafeMutablePointer<gss_buffer_desc>) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            var buffer = gss_buffer_desc(
                length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return body(&buffer)
        }
    }
}
