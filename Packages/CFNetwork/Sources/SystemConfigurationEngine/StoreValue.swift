internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
@preconcurrency internal import CoreFoundation
internal import StreamKit

/// A value of the dynamic store, as a property list.
enum StoreValue: Hashable, Sendable {
    case text(String)
    case number(Int)
    case flag(Bool)
    case list([StoreValue])
    case dictionary([String: StoreValue])
    case proxies(ProxySettings)

    /// The retained CoreFoundation object of the value.
    var cfObject: Unmanaged<CFTypeRef> {
        switch self {
        case .text(let text): .fromOpaque(cfString(text).toOpaque())
        case .number(let number): .fromOpaque(cfNumber(number).toOpaque())
        case .flag(let flag): .passRetained(flag ? kCFBooleanTrue : kCFBooleanFalse)
        case .list(let list): .fromOpaque(cfArray(list.map(\.cfObject)).toOpaque())
        case .dictionary(let dictionary): .fromOpaque(StoreValue.cfDictionary(dictionary).toOpaque())
        case .proxies(let settings): .fromOpaque(settings.cfDictionary.toOpaque())
        }
    }

    /// A retained dictionary of values.
    static func cfDictionary(_ values: [String: StoreValue]) -> Unmanaged<CFDictionary> {
        let dictionary = cfn_dictionary_create().takeRetainedValue()
        for (key, value) in values { dictionary.set(key, value.cfObject) }
        return dictionary.retained
    }
}
