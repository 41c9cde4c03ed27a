/// Carries a caller's object through a lock. Retaining and releasing are safe on any thread; its methods are called only on the run
/// loops where its owner asked for it.
struct Reference<Object>: @unchecked Sendable {
    let value: Object

    init(_ value: Object) {
        self.value = value
    }
}
