// The functions that write an object to memory of the caller. An object that is there already is released.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import Foundation
internal import SecurityC

/// Calls a function in C, and writes the object that it has returned to the caller's place, if there is one.
private func write<Object, Result>(
    to place: UnsafeMutablePointer<Result?>?, _ convert: (Object) -> Result,
    _ call: (UnsafeMutablePointer<Object?>?) -> OSStatus
) -> OSStatus {
    guard let place else { return call(nil) }
    var object: Object?
    let status = call(&object)
    if status == errSecSuccess { place.pointee = object.map(convert) }
    return status
}

/// Adds an item with the attributes and the password (kSecValueData, else empty) of a dictionary, and returns it in the form that its
/// kSecReturn… keys say, unless `result` is NULL. Fails with errSecParam without a server or an account, and with errSecDuplicateItem if
/// there is such an item. If the Secret Service fails when the item is read back, that is the error, and the item stays.
public func SecItemAdd(_ attributes: NSDictionary?, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    write(to: result, { $0 }) { SecurityC.__SecItemAdd(attributes.map { bridge($0) }, $0) }
}

/// Finds items with the attributes of a dictionary, as SecKeychainFindInternetPassword does. An item is returned as its password (CFData), its
/// reference, or, with kSecReturnAttributes or more than one kSecReturn…, as a dictionary; without any of them, nothing is returned. Fails
/// with errSecItemNotFound if there are none.
public func SecItemCopyMatching(_ query: NSDictionary?, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    write(to: result, { $0 }) { SecurityC.__SecItemCopyMatching(query.map { bridge($0) }, $0) }
}

/// Returns the common name of the subject, the last one if there are several; NULL if it has none. It proves nothing. Fails with errSecParam unless
/// the arguments are a certificate and a pointer.
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate?, _ commonName: UnsafeMutablePointer<NSString?>?
) -> OSStatus {
    write(to: commonName, { bridge($0) }) { SecurityC.__SecCertificateCopyCommonName(certificate, $0) }
}

/// Reads a PKCS#12 bundle (RFC 7292) with one identity. The result is an array with one dictionary, with the keys kSecImportItem…. The keychain does not
/// change. Fails with errSecPassphraseRequired without the option kSecImportExportPassphrase, with errSecAuthFailed if the pass-phrase
/// is wrong, with errSecDecode if the data are no bundle with an identity, or are encrypted in a form that OpenSSL does not support, and with
/// errSecParam for other arguments, and other options.
public func SecPKCS12Import(
    _ pkcs12_data: NSData?, _ options: NSDictionary?, _ items: UnsafeMutablePointer<NSArray?>?
) -> OSStatus {
    write(to: items, { bridge($0) }) {
        SecurityC.__SecPKCS12Import(pkcs12_data.map { bridge($0) }, options.map { bridge($0) }, $0)
    }
}

/// Evaluates trust, and returns whether the certificate is trusted: whether it meets each policy. A verdict for a time of SecTrustSetVerifyDate is
/// kept until a setting changes. For the present time, a success is kept until a setting changes or a certificate of the chain of any policy
/// expires, and a failure is evaluated anew by each call. If the certificate is not trusted, the error has the domain kCFErrorDomainOSStatus, a
/// text with the reason, and one of these codes: errSecCertificateExpired, errSecCertificateNotValidYet, errSecHostNameMismatch, errSecNotTrusted,
/// errSecCertificateRevoked, errSecCreateChainFailed; errSecInternalComponent if the certificate could not be evaluated; errSecParam for another
/// object. If several policies are not met, the error is that with the highest SecTrustResultType, and the first of these. May read the files with
/// the roots.
public func SecTrustEvaluateWithError(_ trust: SecTrust?, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    guard let error else { return SecurityC.__SecTrustEvaluateWithError(trust, nil) }
    var found: CFError?
    let isTrusted = SecurityC.__SecTrustEvaluateWithError(trust, &found)
    if !isTrusted { error.pointee = found }
    return isTrusted
}
