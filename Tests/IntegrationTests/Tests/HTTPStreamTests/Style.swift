import Testing

/// The styles of using a stream. A load must have the same result in each of them.
enum Style: String, CaseIterable, CustomTestStringConvertible {
    case blocking
    case polling
    case queueEvents
    case runLoopEvents
    case async

    var testDescription: String { rawValue }

    /// The style for a number, for tests that load so often that all styles occur.
    static func number(_ number: Int) -> Style { allCases[number % allCases.count] }
}
