// The types that a file with `import CFNetwork` uses, and their conversions. On Apple's systems a CFString is an NSString;
// CoreFoundation on Linux declares an unrelated class for the same objects.

@_exported public import CFNetworkC
@_exported public import CFNetworkEngine
@_exported public import CoreFoundation
@_exported public import Foundation

/// A string object.
public typealias CFString = NSString
/// A URL object.
public typealias CFURL = NSURL
/// A data object.
public typealias CFData = NSData
/// A dictionary object.
public typealias CFDictionary = NSDictionary
/// An array object.
public typealias CFArray = NSArray
/// An HTTP request or response.
public typealias CFHTTPMessage = CFHTTPMessageObject

/// A truth value in C, such as the results that functions write. Converts to and from `Bool`.
@frozen
public struct DarwinBoolean: ExpressibleByBooleanLiteral, Hashable, Sendable, CustomStringConvertible {
    /// The value as a `Bool`.
    public var boolValue: Bool

    /// Creates a value from a `Bool`.
    @inlinable
    public init(_ value: Bool) { boolValue = value }

    /// Creates a value from a literal.
    @inlinable
    public init(booleanLiteral value: Bool) { boolValue = value }

    /// `true` or `false`.
    public var description: String { boolValue.description }
}

/// The same object as an instance of the class that the other side declares.
@_alwaysEmitIntoClient
package func bridge<Other: AnyObject>(_ object: some AnyObject) -> Other {
    // unsafeDowncast verifies the class in debug builds, and the two are unrelated.
    Unmanaged<Other>.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}

/// The same object, with its reference count unchanged.
@_alwaysEmitIntoClient
func bridge<Other: AnyObject>(_ object: Unmanaged<some AnyObject>) -> Unmanaged<Other> {
    unsafeBitCast(object, to: Unmanaged<Other>.self)
}

/// The same memory for a result.
@_alwaysEmitIntoClient
func bridge<Object: AnyObject, Other: AnyObject>(
    _ result: UnsafeMutablePointer<Unmanaged<Object>?>?
) -> UnsafeMutablePointer<Unmanaged<Other>?>? {
    result.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Unmanaged<Other>?.self) }
}

/// The same memory for a truth value, whose layout is that of `Bool`.
@_alwaysEmitIntoClient
func bridge(_ result: UnsafeMutablePointer<DarwinBoolean>?) -> UnsafeMutablePointer<Bool>? {
    result.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Bool.self) }
}
