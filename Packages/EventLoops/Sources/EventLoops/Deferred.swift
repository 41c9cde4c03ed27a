/// Items that are collected while a lock is held, and processed after it has been released.
///
/// Closing, signalling and calling a closure of the application may run code that takes the same lock. Code under the lock adds
/// such items instead, and takes them all out at the end:
///
/// ```swift
/// let pairs = state.withLock { state in
///     state.closeAll()                // adds to state.pairs
///     return state.pairs.take()
/// }
/// pairs.forEach { $0.close() }
/// ```
@_spi(Packages) public struct Deferred<Item: Sendable>: Sendable {
    // Most uses of a lock defer nothing, and most others one item: the first one needs no array.
    @usableFromInline var first: Item?
    @usableFromInline var others: [Item] = []

    /// Makes an empty collection.
    @inlinable
    public init() {}

    /// Whether there is no item.
    @inlinable
    public var isEmpty: Bool {
        if case nil = first { true } else { false }
    }

    /// Adds an item behind the others.
    @inlinable
    public mutating func add(_ item: consuming Item) {
        if isEmpty { first = consume item } else { others.append(consume item) }
    }

    /// Removes all items and returns them.
    @inlinable
    public mutating func take() -> Deferred {
        if isEmpty { return Deferred() }
        let taken = self
        self = Deferred()
        return taken
    }

    /// Removes all items and calls `body` with each, in the order of ``add(_:)``.
    @inlinable
    public mutating func removeAll(_ body: (consuming Item) -> Void) {
        if let item = first.take() { body(item) }
        if others.isEmpty { return }
        for item in others { body(item) }
        others = []
    }

    /// Calls `body` with each item, in the order of ``add(_:)``.
    @inlinable
    public func forEach(_ body: (Item) -> Void) {
        if let first { body(first) }
        for item in others { body(item) }
    }
}
