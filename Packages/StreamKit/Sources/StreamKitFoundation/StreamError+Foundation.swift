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
    /// | `netDB`, `http`, `ftp`, `netServices` | `kCFErrorDomainCFNetwork` | `StreamError.networkErrorNumber` |
    ///
    /// `localizedDescription` is the sentence, `NSUnderlyingErrorKey` this error, and `StreamError.details` stand under
    /// CFNetwork's keys.
    public var foundationError: NSError {
        var code = code
        var details: [String: Any] = [NSLocalizedDescriptionKey: description, NSUnderlyingErrorKey: self]
        let domain: String
        switch self.domain {
        case .posix: domain = NSPOSIXErrorDomain
        case .ssl: domain = NSStreamSocketSSLErrorDomain
        case .socks: domain = NSStreamSOCKSErrorDomain
        case .netDB, .http, .ftp, .netServices:
            domain = NetworkErrorNumber.domain
            code = networkErrorNumber?.rawValue ?? code
        default: domain = "kCFStreamErrorDomain\(self.domain.rawValue)"
        }
        for (key, value) in self.details {
            switch value {
            case .number(let number): details[key.rawValue] = number
            case .text(let text): details[key.rawValue] = text
            }
        }
        return NSError(domain: domain, code: code, userInfo: details)
    }
}
