public import Foundation
public import StreamKit

extension StreamError {
    /// The error in the form of Foundation's streams: an `NSError` with the domain and code of Apple's platforms.
    ///
    /// | domain | `NSError` domain | code |
    /// |---|---|---|
    /// | `posix` | `NSPOSIXErrorDomain` | `errno` |
    /// | `ssl` | `NSStreamSocketSSLErrorDomain` | SecureTransport's |
    /// | `socks` | `NSStreamSOCKSErrorDomain` | sub-domain and value |
    /// | `netDB`, `http`, `ftp`, `netServices` | `kCFErrorDomainCFNetwork` | `StreamError.networkErrorNumber` |
    ///
    /// `localizedDescription` is the message, `NSUnderlyingErrorKey` is this error, and `StreamError.details` are under
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
