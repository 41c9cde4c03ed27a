// The functions of SecCertificate.h and SecPolicy.h. Their names and documentation are in the headers.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
package import CoreFoundation
package import SecurityC
internal import StreamKit

/// The certificate of an object.
func certificate(_ object: AnyObject?) throws(Status) -> Certificate {
    guard let object, let certificate = CertificateContent.certificate(of: object) else { throw .parameter }
    return certificate
}

/// The type identifier of certificates.
@_cdecl("SecCertificateGetTypeID") @implementation
package func SecCertificateGetTypeID() -> CFTypeID { CertificateContent.typeID }

@_cdecl("SecCertificateCreateWithData") @implementation
package func __SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData?) -> Unmanaged<SecCertificate>? {
    guard let data, CFGetTypeID(data) == CFDataGetTypeID(), let certificate = try? Certificate(der: bytes(data)) else {
        return nil
    }
    return CertificateContent.make(certificate, allocator)
}

@_cdecl("SecCertificateCopyData") @implementation
package func __SecCertificateCopyData(_ certificate: SecCertificate?) -> Unmanaged<CFData>? {
    (try? SecurityEngine.certificate(certificate)).map { cfData($0.der) }
}

@_cdecl("SecCertificateCopySubjectSummary") @implementation
package func __SecCertificateCopySubjectSummary(_ certificate: SecCertificate?) -> Unmanaged<CFString>? {
    (try? SecurityEngine.certificate(certificate)).map { cfString($0.summary) }
}

@_cdecl("SecCertificateCopyCommonName") @implementation
package func __SecCertificateCopyCommonName(
    _ certificate: SecCertificate?, _ commonName: UnsafeMutablePointer<CFString?>?
) -> OSStatus {
    status { () throws(Status) in
        let certificate = try SecurityEngine.certificate(certificate)
        guard let commonName else { throw .parameter }
        commonName.initialize(to: certificate.commonName.map { cfString($0).takeRetainedValue() })
    }
}

/// A policy: SecPolicy.
final class PolicyContent: ObjectContent {
    static let typeID = cfn_comparable_class_register("SecPolicy")

    let policy: TrustPolicy

    init(_ policy: TrustPolicy) { self.policy = policy }

    var summary: String { "\(policy)" }

    func isEqual(to other: any ObjectContent) -> Bool { (other as? PolicyContent)?.policy == policy }

    var hashCode: Int { policy.hashValue }
}

/// The type identifier of policies.
@_cdecl("SecPolicyGetTypeID") @implementation
package func SecPolicyGetTypeID() -> CFTypeID { PolicyContent.typeID }

@_cdecl("SecPolicyCreateSSL") @implementation
package func __SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> Unmanaged<SecPolicy>? {
    if let hostname, CFGetTypeID(hostname) != CFStringGetTypeID() { return nil }
    let name = hostname.map { string($0) }
    return makeObject(nil, PolicyContent.typeID, PolicyContent(server ? .server(name) : .client(name)))
}

@_cdecl("SecPolicyCreateBasicX509") @implementation
package func __SecPolicyCreateBasicX509() -> Unmanaged<SecPolicy> {
    nullable(makeObject(nil, PolicyContent.typeID, PolicyContent(.any)))
}
