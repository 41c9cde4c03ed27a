internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency package import CoreFoundation
internal import StreamKit

extension StreamError {
    /// A retained CFError with Apple's domain and code, the message, and the facts under CFNetwork's keys.
    ///
    /// The numbers of `CFStreamError` are under the keys from which `CFReadStreamGetError` reads them.
    var cfError: Unmanaged<CFError> {
        let info = cfn_dictionary_create().takeRetainedValue()
        info.set("_kCFStreamErrorDomainKey", cfNumber(domain.rawValue))
        info.set("_kCFStreamErrorCodeKey", cfNumber(code))
        info.set(string(kCFErrorLocalizedDescriptionKey), cfString(description))
        for (key, value) in details {
            switch value {
            case .number(let number): info.set(key.rawValue, cfNumber(number))
            case .text(let text): info.set(key.rawValue, cfString(text))
            }
        }
        let (name, number): (CFString, Int) =
            switch domain {
            case .posix: (kCFErrorDomainPOSIX, code)
            case .ssl, .macOSStatus: (kCFErrorDomainOSStatus, code)
            default: (__kCFErrorDomainCFNetwork, networkErrorNumber?.rawValue ?? code)
            }
        return .passRetained(CFErrorCreate(nil, name, number, info))
    }
}

/// A retained number.
package func cfNumber(_ value: Int) -> Unmanaged<CFNumber> {
    var value = value
    return .passRetained(CFNumberCreate(nil, .cfIndexType, &value))
}

extension CFStreamError {
    /// An error in the form of older functions.
    init(_ domain: StreamErrorDomain, code: Int) {
        self.init(domain: domain.rawValue, error: Int32(truncatingIfNeeded: code))
    }
}
