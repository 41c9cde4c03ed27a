/// A ``HostLookup``'s result of one kind, and whether a lookup produced it.
public struct Fetched<Value: Sendable>: Sendable {
    /// The result; nil if there is none.
    public let value: Value?
    /// Whether the kind was looked up, with or without success. False for the name or address that the host was created
    /// with.
    public let hasBeenResolved: Bool

    /// Creates a fetched value.
    public init(value: Value?, hasBeenResolved: Bool) {
        self.value = value
        self.hasBeenResolved = hasBeenResolved
    }
}

extension Fetched: Equatable where Value: Equatable {}
