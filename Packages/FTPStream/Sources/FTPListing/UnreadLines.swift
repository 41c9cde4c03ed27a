/// The lines of a listing that could not be read: neither entries nor known headings.
///
/// Each may stand for a file whose name is unknown. A program that compares a folder with a listing must therefore delete nothing
/// while there are any:
///
/// ```swift
/// var parser = ListingParser(ListingOptions(now: now))
/// let entry = try parser.finish(bytes.span.bytes)        // a listing of one line
/// for line in parser.unread.texts { print("not read:", line) }
/// ```
public struct UnreadLines: Sendable, Hashable {
    /// The most lines in ``texts``.
    package static let textLimit = 16

    /// The longest text of a line, in bytes.
    public static let lineLimit = 256

    /// The number of all lines that could not be read.
    public private(set) var count = 0

    /// The first lines, without control characters, each cut to ``lineLimit`` bytes.
    public private(set) var texts: [String] = []

    /// Whether every line was read.
    public var isEmpty: Bool { count == 0 }

    /// Creates an empty list.
    public init() {}

    mutating func add(_ line: [UInt8]) {
        count += 1
        if texts.count < Self.textLimit {
            texts.append(ListingEntry.shownText(of: ListingEntry.prefix(of: line, upTo: Self.lineLimit)))
        }
    }
}
