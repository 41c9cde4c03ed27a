/// Makes a value that cannot be compared comparable by the identity of this object.
final class IdentityBox<Value: Sendable>: Sendable, Hashable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: IdentityBox, right: IdentityBox) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
