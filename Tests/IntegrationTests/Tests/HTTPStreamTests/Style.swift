import Testing

/// The ways of using a stream. What a server does to a stream must come out the same in each of them.
enum Style: String, CaseIterable, CustomTestStringConvertible {
    case blocking
    case polling
    case queueEvents
    case runLoopEvents
    case async

    var testDescription: String { rawValue }

    /// Another style for each number, where a test loads often enough to meet all of them.
    static func number(_ number: Int) -> Style { allCases[number % allCases.count] }
}
