internal import CGSSAPI

/// The result of a GSSAPI call. All results are checked and converted into errors here.
struct GSSStatus {
    /// The routine errors of GSSAPI that have a meaning of their own here (RFC 2744 section 3.9.1).
    private enum RoutineError: UInt32 {
        case wrongBindings = 4
        case noCredential = 7
        case defectiveToken = 9
        case credentialExpired = 11
        case unavailable = 16
    }

    /// The kind of a status number whose text is requested.
    private enum Kind: CInt {
        case gssapi = 1
        case mechanism = 2
    }

    /// The supplementary bit `GSS_S_CONTINUE_NEEDED`.
    private static let continueNeeded: UInt32 = 1

    var major: UInt32
    var minor: UInt32 = 0

    /// Performs a call, which writes its minor status to its second argument.
    init(_ call: (GSSLibrary, UnsafeMutablePointer<UInt32>) -> UInt32) {
        var minor: UInt32 = 0
        major = GSSLibrary.use { call($0, &minor) } ?? RoutineError.unavailable.rawValue << 16
        self.minor = minor
    }

    /// Whether the call failed: it has a calling error or a routine error.
    var isError: Bool { major >> 16 != 0 }

    var needsMore: Bool { !isError && major & GSSStatus.continueNeeded != 0 }

    private var routineError: RoutineError? { RoutineError(rawValue: major >> 16 & 0xFF) }

    /// Throws if the call failed. `what` names the operation, for the message.
    func check(_ what: String) throws(HTTPAuthError) {
        if case .failure(let error) = GSSLibrary.shared { throw error }
        if isError { throw .negotiate(code, "\(what): \(text)") }
    }

    /// The error code for the status.
    private var code: HTTPAuthError.Code {
        // The minor status, a Kerberos error, is more specific. The GSSAPI routine error decides only if that error is
        // not one of these.
        switch KerberosError(rawValue: Int32(bitPattern: minor)) {
        case .ticketExpired, .clientExpired, .ticketNotYetValid: return .ticketExpired
        case .clockSkew, .replyClockSkew, .neverValid: return .clockSkew
        case .serviceUnknown, .hostRealmUnknown: return .serviceUnknown
        case .serverUnreachable, .realmNotResolved, .realmUnknown: return .kerberosUnreachable
        case .clientUnknown, .preauthenticationFailed, .wrongIntegrity, .keyExpired, .clientRevoked:
            return .credentialRefused
        case .noCacheFile, .noCache, .cacheNotPermitted, .noKey: return .ticketMissing
        case .modified, .wrongPrincipal, .notForThisService, .wrongKeyVersion: return .loginRefused
        case nil: break
        }
        switch routineError {
        case .noCredential: return .ticketMissing
        case .credentialExpired: return .ticketExpired
        case .wrongBindings: return .serverNotAuthentic
        case .defectiveToken: return .malformedToken
        case .unavailable: return .unavailable
        case nil: return .mechanismFailed
        }
    }

    /// The library's message for the Kerberos error or, if there is none, for the GSSAPI error.
    private var text: String {
        let messages = minor == 0 ? [] : GSSStatus.displayStatus(minor, .mechanism, netkit_gss_kerberos())
        return (messages.isEmpty ? GSSStatus.displayStatus(major, .gssapi, nil) : messages).joined(
            separator: "; ")
    }

    private static func displayStatus(
        _ number: UInt32, _ kind: Kind, _ mechanism: UnsafeMutablePointer<netkit_gss_oid>?
    ) -> [String] {
        var messages: [String] = []
        var context: UInt32 = 0
        repeat {
            var minor: UInt32 = 0
            let message = GSSBuffer()
            let status = GSSLibrary.use {
                $0.displayStatus(&minor, number, kind.rawValue, mechanism, &context, message.address)
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
    let address: UnsafeMutablePointer<netkit_gss_buffer>

    init() {
        address = .allocate(capacity: 1)
        address.initialize(to: netkit_gss_buffer(length: 0, value: nil))
    }

    deinit {
        var minor: UInt32 = 0
        _ = GSSLibrary.use { $0.releaseBuffer(&minor, address) }
        address.deallocate()
    }

    /// A copy of the contents.
    var bytes: [UInt8] {
        guard let start = address.pointee.value else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: address.pointee.length))
    }

    /// Calls `body` with a GSSAPI buffer of `bytes`, which GSSAPI only reads.
    static func with<Result>(
        _ bytes: [UInt8], _ body: (UnsafeMutablePointer<netkit_gss_buffer>) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            var buffer = netkit_gss_buffer(
                length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return body(&buffer)
        }
    }
}

/// The errors of Kerberos that have a meaning of their own here. The values below 128 above the base are those of
/// RFC 4120 section 7.5.9; the others are those of MIT Kerberos.
private enum KerberosError: Int32 {
    // The base is -1765328384.
    case clientExpired = -1_765_328_383
    case clientUnknown = -1_765_328_378
    case serviceUnknown = -1_765_328_377
    case neverValid = -1_765_328_373
    case clientRevoked = -1_765_328_366
    case keyExpired = -1_765_328_361
    case preauthenticationFailed = -1_765_328_360
    case wrongIntegrity = -1_765_328_353
    case ticketExpired = -1_765_328_352
    case ticketNotYetValid = -1_765_328_351
    case notForThisService = -1_765_328_349
    case clockSkew = -1_765_328_347
    case modified = -1_765_328_343
    case wrongKeyVersion = -1_765_328_340
    case noCache = -1_765_328_243
    case wrongPrincipal = -1_765_328_240
    case replyClockSkew = -1_765_328_236
    case realmUnknown = -1_765_328_230
    case serverUnreachable = -1_765_328_228
    case noKey = -1_765_328_203
    case cacheNotPermitted = -1_765_328_190
    case noCacheFile = -1_765_328_189
    case hostRealmUnknown = -1_765_328_167
    case realmNotResolved = -1_765_328_164
}
