/// What a ``HostLookup`` has of one kind, and whether it was looked up.
public struct Fetched<Value: Sendable>: Sendable {
    /// What there is; nil if nothing is.
    public let value: Value?
    /// The kind was looked up, with or without success. False for what the lookup was made from.
    public let hasBeenResolved: Bool

    /// Makes a fetched value.
    public init(value: Value?, hasBeenResolved: Bool) {
        self.value = value
        self.hasBeenResolved = hasBeenResolved
    }
}

extension Fetched: Equatable where Value: Equatable {}
