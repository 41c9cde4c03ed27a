/// A reference to the value of a property, on its way to a transport: see
/// ``StreamTransport/setProperty(byReference:named:)``.
///
/// ```swift
/// var delay = Duration.zero
///
/// func setProperty(byReference value: borrowing StreamPropertyValue, named name: String) throws(StreamError) -> Bool {
///     guard name == "example.delay" else { return try lower.setProperty(byReference: value, named: name) }
///     delay = value.as(Duration.self) ?? .zero
///     return true
/// }
/// ```
///
/// The value stays in the caller's memory: passing the reference through several layers copies nothing.
public struct StreamPropertyValue: ~Copyable {
    // Valid during the call to which this value is lent. Since it cannot be copied, it does not outlive that call. A value
    // without a size has no address.
    @usableFromInline
    let address: UnsafeRawPointer
    @usableFromInline
    let type: any Sendable.Type
    /// Nil if the property is to have its default.
    @usableFromInline
    let load: ((UnsafeRawPointer) -> any Sendable)?

    @usableFromInline
    init(address: UnsafeRawPointer, type: any Sendable.Type, load: ((UnsafeRawPointer) -> any Sendable)?) {
        self.address = address
        self.type = type
        self.load = load
    }

    /// Refers to a value, which must stay at this address.
    @inlinable
    @inline(__always)
    package init<Value: Sendable>(at address: UnsafePointer<Value>) {
        self.init(address: UnsafeRawPointer(address), type: Value.self) {
            $0.assumingMemoryBound(to: Value.self).pointee
        }
    }

    /// Stands for the property's default.
    @usableFromInline
    package init() {
        self.init(address: UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped, type: Never.self, load: nil)
    }

    /// The value, whatever its type; nil if the property is to have its default.
    public var any: (any Sendable)? { load?(address) }

    /// Returns the value as a type; nil if it has another type, or if the property is to have its default.
    @inlinable
    @inline(__always)
    public func `as`<Value: Sendable>(_ type: Value.Type) -> Value? {
        guard let load else { return nil }
        // Nearly all values have exactly this type, and a comparison costs a fifth of a cast.
        if self.type == type { return address.assumingMemoryBound(to: Value.self).pointee }
        return load(address) as? Value
    }
}
