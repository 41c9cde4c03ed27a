/// An `errno` value, passed to the caller that knows the failed operation.
struct ErrorNumber: Error {
    let value: CInt

    init(_ value: CInt) {
        self.value = value
    }
}
