/// The lines of a listing that could not be read, neither entries nor known headings, and those that were read by a guess.
///
/// Each may stand for a file whose name is unknown, or another one than that of its entry. A program that compares a folder with a listing must therefore delete nothing
/// while there are any:
///
/// ```swift
/// var parser = ListingParser(ListingOptions(now: now))
/// let entries = try parser.finish(bytes.span.bytes)        // a listing of one line
/// for line in parser.unread.texts { print("not read:", line) }
/// ```
public struct UnreadLines: Sendable, Hashable {
    /// The most lines in ``texts``.
    package static let maximumTexts = 16

    /// The longest text of a line, in bytes.
    public static let maximumLineLength = 256

    /// The number of all lines that could not be read.
    public private(set) var count = 0

    /// The first lines, without control characters, each cut to ``maximumLineLength`` bytes.
    public private(set) var texts: [String] = []

    /// The number of lines that can be read in two ways, and were read by a guess; see <doc:WhatWeRead>.
    public private(set) var guessCount = 0

    /// The first lines of these, as ``texts``.
    public private(set) var guesses: [String] = []

    /// Whether every line was read, and none by a guess.
    public var isEmpty: Bool { count == 0 && guessCount == 0 }

    /// Creates an empty list.
    public init() {}

    mutating func add(_ line: [UInt8]) {
        count += 1
        if texts.count < Self.maximumTexts { texts.append(Self.text(of: line)) }
    }

    mutating func guess(_ line: [UInt8]) {
        guessCount += 1
        if guesses.count < Self.maximumTexts { guesses.append(Self.text(of: line)) }
    }

    private static func text(of line: [UInt8]) -> String {
        ListingEntry.shownText(of: ListingEntry.prefix(of: line, upTo: maximumLineLength))
    }
}
