// The functions of CFNetworkRuntime.h that C calls. Their names are those of the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation

/// Releases a state.
@_cdecl("cfn_release") @implementation
package func cfn_release(_ state: UnsafeMutableRawPointer) {
    Unmanaged<ObjectState>.fromOpaque(state).release()
}

/// The description of an object, retained.
@_cdecl("cfn_describe") @implementation
package func cfn_describe(_ state: UnsafeRawPointer, _ object: UnsafeRawPointer) -> Unmanaged<CFString> {
    let type = CFGetTypeID(Unmanaged<CFTypeRef>.fromOpaque(object).takeUnretainedValue())
    let summary = Unmanaged<ObjectState>.fromOpaque(state).takeUnretainedValue().summary
    return cfString("<\(string(CFCopyTypeIDDescription(type))) \(object)>{\(summary)}")
}

/// Whether two states of one class are equal.
@_cdecl("cfn_equal") @implementation
package func cfn_equal(_ state: UnsafeRawPointer, _ other: UnsafeRawPointer) -> Bool {
    let other = Unmanaged<ObjectState>.fromOpaque(other).takeUnretainedValue()
    return Unmanaged<ObjectState>.fromOpaque(state).takeUnretainedValue().isEqual(to: other)
}

/// The hash value of a state.
@_cdecl("cfn_hash") @implementation
package func cfn_hash(_ state: UnsafeRawPointer) -> CFHashCode {
    CFHashCode(bitPattern: Unmanaged<ObjectState>.fromOpaque(state).takeUnretainedValue().hashCode)
}
