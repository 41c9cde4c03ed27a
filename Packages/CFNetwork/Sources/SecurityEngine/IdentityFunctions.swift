// The functions of SecIdentity.h and SecImportExport.h. Their names and documentation are in the headers.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
package import CoreFoundation
package import SecurityC
internal import StreamKit

/// The type identifier of identities.
@_cdecl("SecIdentityGetTypeID") @implementation
package func SecIdentityGetTypeID() -> CFTypeID { IdentityContent.typeID }

/// Implements the function of `<Security/SecIdentity.h>`.
@_cdecl("SecIdentityCopyCertificate") @implementation
package func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity?, _ certificateRef: UnsafeMutablePointer<SecCertificate?>?
) -> OSStatus {
    status { () throws(Status) in
        guard let identityRef, let certificateRef,
            let own = IdentityContent.identity(of: identityRef)?.certificates.first
        else { throw .parameter }
        guard let object: Unmanaged<SecCertificate> = CertificateContent.make(own) else { throw .memory }
        give(object.takeRetainedValue(), to: certificateRef)
    }
}

@_cdecl("SecPKCS12Import") @implementation
package func __SecPKCS12Import(
    _ pkcs12_data: CFData?, _ options: CFDictionary?, _ items: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    status { () throws(Status) in
        guard let data = pkcs12_data, CFGetTypeID(data) == CFDataGetTypeID(), let items else { throw .parameter }
        guard let password = try passphrase(options) else { throw .passphraseRequired }
        let identity: TLSIdentity
        do throws(StreamError) {
            identity = try TLSIdentity(pkcs12: bytes(data), password: password)
        } catch {
            throw error.reason == .wrongPassword ? .authenticationFailed : .damaged
        }
        let own: Unmanaged<SecIdentity>? = IdentityContent.make(identity)
        let trust: Unmanaged<SecTrust>? = TrustContent.make(identity.certificates, [.any])
        let chain = CertificateContent.makeArray(identity.certificates)
        let dictionary = cfn_dictionary_create().takeRetainedValue()
        dictionary.set(__kSecImportItemIdentity, own)
        dictionary.set(__kSecImportItemTrust, trust)
        dictionary.set(__kSecImportItemCertChain, chain)
        give(cfArray([Unmanaged.passRetained(dictionary)]).takeRetainedValue(), to: items)
    }
}

/// The pass-phrase of the options, which must not have another key.
private func passphrase(_ options: CFDictionary?) throws(Status) -> String? {
    guard let options else { return nil }
    var phrase: String?
    for (key, value) in try pairs(options) {
        guard key == string(__kSecImportExportPassphrase), CFGetTypeID(value) == CFStringGetTypeID() else {
            throw .parameter
        }
        let text = string(cast(value))
        if text.utf8.contains(0) { throw .parameter }
        phrase = text
    }
    return phrase
}
