/// Reads directory listings line by line, in every format that servers send.
///
/// ```swift
/// var parser = ListingParser(ListingOptions(now: now))
/// while true {
///     let step = try parser.parse(buffer.span.bytes)
///     if step.consumed == 0 { break }                    // no whole line: add more bytes
///     if let entry = step.entry { print(entry.name) }
///     buffer.removeFirst(step.consumed)
/// }
/// if let last = try parser.finish(buffer.span.bytes) { print(last.name) }
/// ```
///
/// Each line is recognised by itself, so that servers which mix formats are read as well. Replaces
/// `CFFTPCreateParsedResourceListing`, whose loss of a last line without line end ``finish(_:)`` mends. Does no I/O and imports
/// nothing. What comes in is never trusted: any bytes give entries or none, and ``ListingError`` at worst.
public struct ListingParser: Sendable {
    /// What one call of ``ListingParser/parse(_:)`` did.
    public struct Step: Sendable, Hashable {
        /// How many bytes were used: those of one line with its end. 0: no whole line is there, give more.
        public let consumed: Int

        /// What the line said; nil if it was none of an entry: a heading, a total, blank, or not to be understood.
        public let entry: ListingEntry?
    }

    /// What it was made with.
    public let options: ListingOptions

    private let years: YearGuess
    private var line = ListingLine()
    /// A name that stood on a line of its own, on VMS; the rest follows.
    private var pendingName: [UInt8] = []

    /// A parser for one listing.
    public init(_ options: ListingOptions) {
        self.options = options
        years = YearGuess(options)
    }

    /// Reads the first line of `bytes`.
    ///
    /// - Throws: ``ListingError/lineTooLong(limit:)``, also for a line whose end has not come yet.
    public mutating func parse(_ bytes: RawSpan) throws(ListingError) -> Step {
        let limit = options.lineLimit + 2
        var end = 0
        let count = bytes.byteCount
        while end < count, bytes.unsafeLoad(fromUncheckedByteOffset: end, as: UInt8.self) != UInt8(ascii: "\n") {
            end += 1
            if end > limit { throw .lineTooLong(limit: options.lineLimit) }
        }
        if end == count { return Step(consumed: 0, entry: nil) }
        return Step(consumed: end + 1, entry: try read(bytes.extracting(..<end)))
    }

    /// Reads the last line if it has no end; nil for none.
    ///
    /// - Parameter rest: what ``parse(_:)`` left.
    /// - Throws: ``ListingError/lineTooLong(limit:)``.
    public mutating func finish(_ rest: RawSpan) throws(ListingError) -> ListingEntry? {
        rest.byteCount == 0 ? nil : try read(rest)
    }

    /// Every entry of a whole listing.
    ///
    /// - Throws: ``ListingError/lineTooLong(limit:)``.
    public static func entries(
        of listing: [UInt8], _ options: ListingOptions
    ) throws(ListingError) -> [ListingEntry] {
        var parser = ListingParser(options)
        var entries: [ListingEntry] = []
        let bytes = listing.span.bytes
        var place = 0
        while true {
            let step = try parser.parse(bytes.extracting(droppingFirst: place))
            if let entry = step.entry { entries.append(entry) }
            if step.consumed == 0 { break }
            place += step.consumed
        }
        if let last = try parser.finish(bytes.extracting(droppingFirst: place)) { entries.append(last) }
        return entries
    }

    private mutating func read(_ bytes: RawSpan) throws(ListingError) -> ListingEntry? {
        line.set(bytes)
        if line.count > options.lineLimit { throw .lineTooLong(limit: options.lineLimit) }
        if options.format == .names { return line.count == 0 ? nil : ListingEntry(nameBytes: line.bytes) }
        line.split()
        defer { pendingName = VMSFormat.loneName(line) ?? [] }
        if line.fields.isEmpty { return nil }
        if let format = options.format { return parse(as: format) }
        // What begins a line tells most formats apart; the rest are tried in turn.
        let first = line.bytes[line.fields[0].lowerBound]
        if line[0].contains(UInt8(ascii: "=")), let entry = parse(as: .facts) { return entry }
        if first == UInt8(ascii: "+"), let entry = parse(as: .eplf) { return entry }
        for format in ListingParser.guesses {
            if let entry = parse(as: format) { return entry }
        }
        return nil
    }

    private static let guesses: [ListingFormat] = [
        .unix, .netware, .windows, .vms, .os400, .os2, .mvs, .mvsMembers, .nonStop,
    ]

    private func parse(as format: ListingFormat) -> ListingEntry? {
        switch format {
        case .facts: return FactsFormat.parse(line)
        case .unix: return UnixFormat.parse(line, years)
        case .netware: return NetWareFormat.parse(line, years)
        case .windows: return WindowsFormat.parse(line)
        case .vms: return VMSFormat.parse(line, after: pendingName)
        case .os400: return OS400Format.parse(line)
        case .mvs: return MVSFormat.parse(line)
        case .mvsMembers: return MVSFormat.parseMember(line)
        case .os2: return OS2Format.parse(line)
        case .nonStop: return NonStopFormat.parse(line)
        case .eplf: return EPLFFormat.parse(line)
        case .names: return line.count == 0 ? nil : ListingEntry(nameBytes: line.bytes)
        }
    }
}
