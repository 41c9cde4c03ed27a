import ArgumentParser

/// The rule for the time limits of all verbs.
enum TimeLimit {
    /// The longest limit, in seconds: 31 years. `Duration` and the system's clocks cannot hold all values of `Double`.
    static let longest = 1e9

    /// A number of seconds for messages, such as `2 s` or `0.5 s`.
    static func text(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    static func check(_ seconds: Double?, of option: String = "--timeout") throws {
        guard let seconds, !(seconds > 0 && seconds <= longest) else { return }
        throw ValidationError("\(option) must be a number of seconds above 0, and at most \(Int(longest)).")
    }
}
