/// A part of a file that was not understood and that is not used.
public struct SkippedLine: Hashable, Sendable, CustomStringConvertible {
    /// The number of the line, from 1.
    public let line: Int
    /// What is wrong with it, without any of its text, which may be a secret.
    public let reason: String

    /// Makes a report.
    public init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }

    /// `line 4: unknown keyword`
    public var description: String { "line \(line): \(reason)" }
}
