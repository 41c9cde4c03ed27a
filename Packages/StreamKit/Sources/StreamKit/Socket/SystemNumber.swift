/// An `errno` value on its way to a place that knows what was being done.
struct SystemNumber: Error {
    let value: CInt

    init(_ value: CInt) {
        self.value = value
    }
}
