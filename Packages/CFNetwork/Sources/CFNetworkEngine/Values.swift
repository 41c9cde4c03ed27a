// Conversions between CoreFoundation's values and Swift's.

internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import Foundation

private let utf8 = CFStringEncoding(0x0800_0100)

/// The text of a CoreFoundation string. A surrogate without its pair becomes U+FFFD.
package func string(_ text: CFString) -> String {
    let range = CFRange(location: 0, length: CFStringGetLength(text))
    let capacity = CFStringGetMaximumSizeForEncoding(range.length, utf8)
    var converted = 0
    let result = String(unsafeUninitializedCapacity: capacity) { buffer in
        var count = 0
        converted = CFStringGetBytes(text, range, utf8, 0, false, buffer.baseAddress, capacity, &count)
        return count
    }
    if converted == range.length { return result }
    // The conversion has ended at a surrogate without its pair.
    var units = [UniChar](repeating: 0, count: range.length)
    CFStringGetCharacters(text, range, &units)
    return String(decoding: units, as: UTF16.self)
}

/// A retained CoreFoundation string.
package func cfString(_ text: String) -> Unmanaged<CFString> {
    var text = text
    return text.withUTF8 { .passRetained(CFStringCreateWithBytes(nil, $0.baseAddress, $0.count, utf8, false)) }
}

/// A retained CoreFoundation data object.
package func cfData(_ bytes: [UInt8]) -> Unmanaged<CFData> { bytes.withUnsafeBytes { cfData($0) } }

/// A CoreFoundation data object with the bytes of a buffer, of which no other copy is made.
package func cfData(_ bytes: UnsafeRawBufferPointer) -> Unmanaged<CFData> {
    .passRetained(CFDataCreate(nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
}

/// The bytes of a CoreFoundation data object.
package func bytes(_ data: CFData) -> [UInt8] {
    let count = CFDataGetLength(data)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        if let start = buffer.baseAddress { CFDataGetBytes(data, CFRange(location: 0, length: count), start) }
        initialized = count
    }
}

/// A retained URL. Nil if CoreFoundation rejects the text.
func cfURL(_ text: String) -> Unmanaged<CFURL>? {
    let text = cfString(text)
    defer { text.release() }
    return CFURLCreateWithString(nil, text.takeUnretainedValue(), nil).map { .passRetained($0) }
}

/// The text of an absolute URL; relative URLs are resolved first.
func string(_ url: CFURL) -> String {
    string(CFURLGetString(CFURLCopyAbsoluteURL(url) ?? url))
}

extension CFMutableDictionary {
    /// Sets the value of a key, and takes over its reference. Nil sets nothing.
    package func set(_ key: CFString, _ value: Unmanaged<some AnyObject>?) {
        guard let value else { return }
        CFDictionarySetValue(self, Unmanaged.passUnretained(key).toOpaque(), value.toOpaque())
        value.release()
    }

    /// Sets the value of a key, and takes over its reference. Nil sets nothing.
    package func set(_ key: String, _ value: Unmanaged<some AnyObject>?) {
        set(cfString(key).takeRetainedValue(), value)
    }

    /// The dictionary itself, retained, as one that is only read.
    package var retained: Unmanaged<CFDictionary> { .fromOpaque(Unmanaged.passRetained(self).toOpaque()) }
}

/// A retained dictionary.
func cfDictionary(_ entries: [AnyHashable: Any]) -> Unmanaged<CFDictionary> {
    let dictionary = cfn_dictionary_create().takeRetainedValue()
    for (key, value) in entries {
        let (key, value) = (cfObject(key.base), cfObject(value))
        CFDictionarySetValue(dictionary, key.toOpaque(), value.toOpaque())
        key.release()
        value.release()
    }
    return dictionary.retained
}

/// A retained array of objects, whose references it takes over.
package func cfArray(_ objects: [Unmanaged<some AnyObject>]) -> Unmanaged<CFArray> {
    let array = cfn_array_create().takeRetainedValue()
    for object in objects {
        CFArrayAppendValue(array, object.toOpaque())
        object.release()
    }
    return .fromOpaque(Unmanaged.passRetained(array).toOpaque())
}

/// A copy of a dictionary, for reading. The class of CoreFoundation's own dictionaries releases a key too early when it looks it up.
func nsDictionary(_ dictionary: CFDictionary) -> NSDictionary {
    NSDictionary(dictionary: dictionary as AnyObject as? [AnyHashable: Any] ?? [:])
}

/// The retained CoreFoundation object of a value: of a container, with those of all that it contains.
///
/// Foundation's own strings, data, arrays and dictionaries are not CoreFoundation's on Linux: CFCopyDescription reads past their end.
/// An object of another class is returned itself. Only a program that has put it there receives it.
func cfObject(_ value: Any) -> Unmanaged<CFTypeRef> {
    switch value {
    case let text as String: .fromOpaque(cfString(text).toOpaque())
    case let data as Data: .fromOpaque(cfData([UInt8](data)).toOpaque())
    case let array as [Any]: .fromOpaque(cfArray(array.map { cfObject($0) }).toOpaque())
    case let dictionary as [AnyHashable: Any]: .fromOpaque(cfDictionary(dictionary).toOpaque())
    default: .passRetained(value as AnyObject)
    }
}
