/// An unexpected result on the tour.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
