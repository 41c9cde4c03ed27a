/// Something on the tour was not as it should be.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
