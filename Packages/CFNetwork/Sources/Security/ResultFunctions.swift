// The functions that write an object to memory of the caller.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import Foundation
internal import SecurityC

/// Adds an item with the attributes and the password (`kSecValueData`, else empty) of a dictionary, and returns it in the form that its
/// `kSecReturn…` keys say. Fails with `errSecParam` without a server or an account, and with `errSecDuplicateItem` if there is such an item.
public func SecItemAdd(_ attributes: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    SecurityC.__SecItemAdd(bridge(attributes), result)
}

/// Finds items with the attributes of a dictionary. An item is returned as its password (`Data`), its reference, or, with
/// `kSecReturnAttributes` or more than one `kSecReturn…`, as a dictionary. Fails with `errSecItemNotFound` if there are none.
public func SecItemCopyMatching(_ query: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    SecurityC.__SecItemCopyMatching(bridge(query), result)
}

/// Returns the common name of a certificate's subject, the last one if there are several; nil if it has none. It proves nothing.
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<NSString?>
) -> OSStatus {
    var name: CoreFoundation.CFString?
    let status = SecurityC.__SecCertificateCopyCommonName(certificate, &name)
    if status == errSecSuccess { commonName.pointee = name.map { bridge($0) } }
    return status
}

/// Reads a PKCS#12 bundle with one identity. The result is an array with one dictionary, with the keys `kSecImportItem…`. Fails with
/// `errSecAuthFailed` if the pass-phrase, the option `kSecImportExportPassphrase`, is wrong, and with `errSecDecode` for other data.
public func SecPKCS12Import(
    _ pkcs12_data: NSData, _ options: NSDictionary, _ items: UnsafeMutablePointer<NSArray?>
) -> OSStatus {
    var found: CoreFoundation.CFArray?
    let status = SecurityC.__SecPKCS12Import(bridge(pkcs12_data), bridge(options), &found)
    if status == errSecSuccess { items.pointee = found.map { bridge($0) } }
    return status
}

/// Evaluates trust, and returns whether the certificate is trusted. A verdict for a time of `SecTrustSetVerifyDate` is kept until a setting
/// changes. For the present time, a success is kept until a setting changes or a certificate of a chain expires, and a failure is evaluated
/// anew by each call. If the certificate is not trusted, the error has the domain `NSOSStatusErrorDomain`, a text with the reason, and one of
/// these codes: `errSecCertificateExpired`, `errSecCertificateNotValidYet`, `errSecHostNameMismatch`, `errSecNotTrusted`,
/// `errSecCertificateRevoked`, `errSecCreateChainFailed`; `errSecInternalComponent` if the certificate could not be evaluated; `errSecParam`
/// for another object. May read the files with the roots.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    SecurityC.__SecTrustEvaluateWithError(trust, error)
}
