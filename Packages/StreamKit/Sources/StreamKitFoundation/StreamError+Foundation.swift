public import Foundation
public import StreamKit

extension StreamError {
    /// The error as Foundation's streams tell it: an `NSError` with the domain and code that code for Apple's platforms
    /// compares with.
    ///
    /// | domain here | domain there | code |
    /// |---|---|---|
    /// | `posix` | `NSPOSIXErrorDomain` | `errno` |
    /// | `ssl` | `NSStreamSocketSSLErrorDomain` | SecureTransport's |
    /// | `socks` | `NSStreamSOCKSErrorDomain` | sub-domain and value |
    /// | `netDB` | `kCFErrorDomainCFNetwork` | 2, with `kCFGetAddrInfoFailureKey` in `userInfo` |
    /// | `http`, `ftp`, … | `kCFStreamErrorDomainHTTP`, … | the same number |
    ///
    /// `localizedDescription` is the sentence, and `NSUnderlyingErrorKey` this error.
    public var foundationError: NSError {
        var code = code
        var details: [String: Any] = [NSLocalizedDescriptionKey: description, NSUnderlyingErrorKey: self]
        let domain: String
        switch self.domain {
        case .posix: domain = NSPOSIXErrorDomain
        case .ssl: domain = NSStreamSocketSSLErrorDomain
        case .socks: domain = NSStreamSOCKSErrorDomain
        case .netDB:
            domain = "kCFErrorDomainCFNetwork"
            details["kCFGetAddrInfoFailureKey"] = code
            code = 2  // kCFHostErrorUnknown
        case .http: domain = "kCFStreamErrorDomainHTTP"
        case .ftp: domain = "kCFStreamErrorDomainFTP"
        case .netServices: domain = "kCFStreamErrorDomainNetServices"
        default: domain = "kCFStreamErrorDomain\(self.domain.rawValue)"
        }
        return NSError(domain: domain, code: code, userInfo: details)
    }
}
