// The functions of SecTrust.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkEngine
package import CoreFoundation
package import SecurityC
internal import StreamKit

/// The elements of an array, or the one object that stands for it; none for NULL.
private func elements<Element>(
    _ objects: AnyObject?, _ element: (AnyObject) throws(Status) -> Element
) throws(Status) -> [Element] {
    guard let objects else { return [] }
    guard CFGetTypeID(objects) == CFArrayGetTypeID() else { return [try element(objects)] }
    let array: CFArray = cast(objects)
    var result: [Element] = []
    for index in 0..<CFArrayGetCount(array) {
        guard let object = CFArrayGetValueAtIndex(array, index) else { throw .parameter }
        result.append(try element(Unmanaged<AnyObject>.fromOpaque(object).takeUnretainedValue()))
    }
    return result
}

private func content(of trust: SecTrust?) throws(Status) -> TrustContent {
    try content(trust, TrustContent.typeID)
}

/// The type identifier of trust objects.
@_cdecl("SecTrustGetTypeID") @implementation
package func SecTrustGetTypeID() -> CFTypeID { TrustContent.typeID }

/// Implements the function of `<Security/SecTrust.h>`.
@_cdecl("SecTrustCreateWithCertificates") @implementation
package func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef?, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>?
) -> OSStatus {
    status { () throws(Status) in
        guard let trust else { throw .parameter }
        let certificates = try elements(certificates) { object throws(Status) in try certificate(object) }
        let policies = try elements(policies) { object throws(Status) -> TrustPolicy in
            let policy: PolicyContent = try content(object, PolicyContent.typeID)
            return policy.policy
        }
        if certificates.isEmpty { throw .parameter }
        let object: Unmanaged<SecTrust>? = TrustContent.make(certificates, policies.isEmpty ? [.any] : policies)
        guard let object else { throw .memory }
        give(object.takeRetainedValue(), to: trust)
    }
}

@_cdecl("SecTrustSetAnchorCertificates") @implementation
package func __SecTrustSetAnchorCertificates(_ trust: SecTrust?, _ anchorCertificates: CFArray?) -> OSStatus {
    status { () throws(Status) in
        let content = try content(of: trust)
        if let anchorCertificates, CFGetTypeID(anchorCertificates) != CFArrayGetTypeID() { throw .parameter }
        let anchors = try elements(anchorCertificates) { object throws(Status) in try certificate(object) }
        content.change { settings in
            settings.anchors = anchors
            settings.isAnchoredOnly = anchorCertificates != nil
        }
    }
}

/// Implements the function of `<Security/SecTrust.h>`.
@_cdecl("SecTrustSetAnchorCertificatesOnly") @implementation
package func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust?, _ anchorCertificatesOnly: Bool) -> OSStatus {
    status { () throws(Status) in
        try content(of: trust).change { $0.isAnchoredOnly = anchorCertificatesOnly }
    }
}

@_cdecl("SecTrustSetVerifyDate") @implementation
package func __SecTrustSetVerifyDate(_ trust: SecTrust?, _ verifyDate: CFDate?) -> OSStatus {
    status { () throws(Status) in
        let content = try content(of: trust)
        var seconds: Int64?
        if let verifyDate {
            guard CFGetTypeID(verifyDate) == CFDateGetTypeID(),
                let time = Int64(
                    exactly: (CFDateGetAbsoluteTime(verifyDate) + kCFAbsoluteTimeIntervalSince1970).rounded(.down))
            else { throw .parameter }
            seconds = time
        }
        content.change { $0.time = seconds }
    }
}

@_cdecl("SecTrustEvaluateWithError") @implementation
package func __SecTrustEvaluateWithError(_ trust: SecTrust?, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let content: TrustContent
    do throws(Status) {
        content = try SecurityEngine.content(of: trust)
    } catch {
        return fail(error.rawValue, "The argument is not a trust object.")
    }
    switch content.evaluate() {
    case .success: return true
    case .failure(let failure): return fail(failure.trustStatus, failure.description)
    }

    func fail(_ code: OSStatus, _ text: String) -> Bool {
        if let error { error.initialize(to: trustError(code, text)) }
        return false
    }
}

/// An error of the domain of OSStatus, with a text.
private func trustError(_ code: OSStatus, _ text: String) -> CFError {
    let text = cfString(text).takeRetainedValue()
    var key: UnsafeRawPointer? = UnsafeRawPointer(Unmanaged.passUnretained(kCFErrorLocalizedDescriptionKey).toOpaque())
    var value: UnsafeRawPointer? = UnsafeRawPointer(Unmanaged.passUnretained(text).toOpaque())
    return withExtendedLifetime(text) {
        CFErrorCreateWithUserInfoKeysAndValues(nil, kCFErrorDomainOSStatus, CFIndex(code), &key, &value, 1)
    }
}

/// Implements the function of `<Security/SecTrust.h>`.
@_cdecl("SecTrustGetTrustResult") @implementation
package func SecTrustGetTrustResult(
    _ trust: SecTrust?, _ result: UnsafeMutablePointer<SecTrustResultType>?
) -> OSStatus {
    status { () throws(Status) in
        let content = try content(of: trust)
        guard let result else { throw .parameter }
        result.pointee =
            switch content.lastVerdict() {
            case nil: .invalid
            case .success: .unspecified
            case .failure(let error): error.trustResult
            }
    }
}

@_cdecl("SecTrustCopyCertificateChain") @implementation
package func __SecTrustCopyCertificateChain(_ trust: SecTrust?) -> Unmanaged<CFArray>? {
    guard let content = try? content(of: trust) else { return nil }
    return CertificateContent.makeArray((try? content.evaluate().get()) ?? content.certificates)
}

extension StreamError {
    /// The result code of an evaluation that failed with this error.
    fileprivate var trustStatus: OSStatus {
        switch tlsFailure {
        case .certificateExpired: errSecCertificateExpired
        case .certificateNotYetValid: errSecCertificateNotValidYet
        case .certificateRevoked: errSecCertificateRevoked
        case .hostNameMismatch: errSecHostNameMismatch
        case .unknownRoot, .noRoot: errSecNotTrusted
        case .invalidChain, .badCertificate: errSecCreateChainFailed
        default: errSecInternalComponent
        }
    }

    fileprivate var trustResult: SecTrustResultType {
        switch trustGravity {
        case .recoverable: .recoverableTrustFailure
        case .fatal: .fatalTrustFailure
        case .unknown: .otherError
        }
    }
}
