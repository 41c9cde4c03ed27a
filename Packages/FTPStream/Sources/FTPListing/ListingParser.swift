/// A parser for directory listings in the formats of all common servers. It parses one line at a time.
///
/// ```swift
/// var parser = ListingParser(ListingOptions(now: now))
/// while true {
///     let step = try parser.parse(buffer.span.bytes)
///     if step.consumed == 0 { break }                    // no whole line: add more bytes
///     if let entry = step.entry { print(entry.name) }
///     buffer.removeFirst(step.consumed)
/// }
/// for entry in try parser.finish(buffer.span.bytes) { print(entry.name) }
/// ```
///
/// The format of each line is detected separately, so that listings with mixed formats can be parsed. Entries are returned in their
/// order. If a line can be read in two ways, its entry and those after it are returned when later lines, or the end, have shown which one
/// is right: with a later step, or by ``finish(_:)``. The parser does no I/O. The
/// input is not trusted: any bytes result in entries, headings, ``unread`` lines or a ``ListingError``.
///
/// Replaces `CFFTPCreateParsedResourceListing`, which loses a last line without a line end; ``finish(_:)`` parses it.
public struct ListingParser: Sendable {
    /// The result of one call of ``ListingParser/parse(_:)``.
    public struct Step: Sendable, Hashable {
        /// The number of bytes used: those of one line and its end. 0 if there is no complete line.
        public let consumed: Int

        /// The next entry: that of the line, unless earlier ones are still to be returned. Nil if the line is a heading, a total or
        /// blank, if its entry continues on the next line or is held, or if it could not be read (``ListingParser/unread``).
        public let entry: ListingEntry?
    }

    /// The options of the parser.
    public let options: ListingOptions

    /// The lines that could not be read so far, or only by a guess; complete after ``finish(_:)``.
    ///
    /// The listing may have another entry for each of them. Compare a folder with the listing only if there are none.
    public private(set) var unread = UnreadLines()

    private var years: YearInference
    private var held = HeldEntries()
    private var line = ListingLine()
    /// A long name in a VMS listing, which is alone on its line; the next line has the other fields.
    private var pendingName: [UInt8] = []
    /// Whether a line had facts, so that a line may also consist of a name alone.
    private var hasFacts = false
    /// Whether a line was the heading or an entry of a list of z/OS members, so that a line may also consist of a member's name alone.
    private var hasMembers = false

    /// Creates a parser for one listing.
    public init(_ options: ListingOptions) {
        self.options = options
        years = YearInference(options)
    }

    /// Parses the first line of `bytes`.
    ///
    /// - Throws: ``ListingError/lineTooLong(limit:)``, also for a line whose end is not yet received.
    public mutating func parse(_ bytes: RawSpan) throws(ListingError) -> Step {
        let limit = options.maximumLineLength + 2
        var end = 0
        let count = bytes.byteCount
        while end < count, bytes.unsafeLoad(fromUncheckedByteOffset: end, as: UInt8.self) != UInt8(ascii: "\n") {
            end += 1
            if end > limit { throw .lineTooLong(limit: options.maximumLineLength) }
        }
        if end == count { return Step(consumed: 0, entry: nil) }
        return Step(consumed: end + 1, entry: inOrder(try read(bytes.extracting(..<end))))
    }

    /// Parses the last line if it has no line end, and returns the entries that no step has returned.
    ///
    /// - Parameter rest: the bytes that ``parse(_:)`` has not used.
    /// - Returns: The entries; usually none or one.
    /// - Throws: ``ListingError/lineTooLong(limit:)``.
    public mutating func finish(_ rest: RawSpan) throws(ListingError) -> [ListingEntry] {
        defer { giveUpPendingName() }
        let last = rest.byteCount == 0 ? nil : inOrder(try read(rest))
        settle()
        return (last.map { [$0] } ?? []) + held.all()
    }

    /// Returns the entries of a complete listing. To learn of lines that could not be read, use a parser.
    ///
    /// - Throws: ``ListingError/lineTooLong(limit:)``.
    public static func entries(
        of listing: [UInt8], _ options: ListingOptions
    ) throws(ListingError) -> [ListingEntry] {
        var parser = ListingParser(options)
        var entries: [ListingEntry] = []
        let bytes = listing.span.bytes
        var offset = 0
        while true {
            let step = try parser.parse(bytes.extracting(droppingFirst: offset))
            if let entry = step.entry { entries.append(entry) }
            if step.consumed == 0 { break }
            offset += step.consumed
        }
        entries += try parser.finish(bytes.extracting(droppingFirst: offset))
        return entries
    }

    /// Whether entries are held until later lines decide how they are read.
    @_spi(Packages) public var holdsEntries: Bool { !held.isEmpty }

    /// Returns the next entry, after the line of `entry` was read.
    private mutating func inOrder(_ entry: ListingEntry?) -> ListingEntry? {
        defer { years.sign = .none }
        switch years.sign {
        case .names:
            // Entries that were returned before may be wrong.
            if held.decision == .years { unread.guess(line.bytes) }
            if held.decision != .names { held.showNames() }
            years.followTimes = false
        case .number(let isLikely, let isOld):
            if let entry, held.decision == .undecided {
                years.followTimes = true
                let dated = parse(as: entry.format) ?? entry
                years.followTimes = false
                held.add(named: entry, dated: dated, line.bytes, isLikely: isLikely, isOld: isOld)
                if held.isFull { settle() }
                return held.next()
            }
            if held.isGuess { unread.guess(line.bytes) }
        case .none: break
        }
        if held.isEmpty { return entry }
        if let entry { held.add(entry) }
        if held.isFull { settle() }
        return held.next()
    }

    private mutating func settle() {
        for line in held.decide() { unread.guess(line) }
        years.followTimes = held.decision == .years
    }

    private mutating func read(_ bytes: RawSpan) throws(ListingError) -> ListingEntry? {
        line.set(bytes)
        if line.count > options.maximumLineLength { throw .lineTooLong(limit: options.maximumLineLength) }
        if options.format == .names { return line.count == 0 ? nil : ListingEntry(nameBytes: line.bytes) }
        line.split()
        let entry = line.fields.isEmpty ? nil : readEntry()
        let isContinuation = entry?.format == .vms && VMSFormat.continues(line, pendingName)
        if isContinuation { pendingName = [] } else { giveUpPendingName() }
        if entry != nil || line.fields.isEmpty { return entry }
        if let name = VMSFormat.loneName(line) {
            pendingName = name
        } else if !ListingHeading.matches(line) {
            unread.add(line.bytes)
        }
        return nil
    }

    /// Counts a name that is alone on its line as unread, since the line after it does not continue it.
    private mutating func giveUpPendingName() {
        if !pendingName.isEmpty { unread.add(pendingName) }
        pendingName = []
    }

    private mutating func readEntry() -> ListingEntry? {
        if let format = options.format { return parse(as: format) }
        // The first field identifies MLSD and EPLF; the other formats are tried in turn.
        let first = line.bytes[line.fields[0].lowerBound]
        if line[0].contains(UInt8(ascii: "=")), let entry = parse(as: .facts) {
            hasFacts = true
            return entry
        }
        if first == UInt8(ascii: "+"), let entry = parse(as: .eplf) { return entry }
        for format in ListingParser.guessedFormats {
            if let entry = parse(as: format) {
                hasMembers = hasMembers || format == .mvsMembers
                return entry
            }
        }
        hasMembers = hasMembers || ListingHeading.announcesMembers(line)
        if hasMembers, let member = MVSFormat.parseMemberName(line) { return member }
        return hasFacts ? FactsFormat.parseName(line) : nil
    }

    private static let guessedFormats: [ListingFormat] = [
        .unix, .netware, .windows, .vms, .os400, .os2, .mvs, .mvsMembers, .nonStop, .zvm, .vshell, .vxWorks,
    ]

    private mutating func parse(as format: ListingFormat) -> ListingEntry? {
        switch format {
        case .facts: return FactsFormat.parse(line) ?? FactsFormat.parseName(line)
        case .unix: return UnixFormat.parse(line, &years)
        case .netware: return NetWareFormat.parse(line, &years)
        case .windows: return WindowsFormat.parse(line)
        case .vms: return VMSFormat.parse(line, after: pendingName)
        case .os400: return OS400Format.parse(line)
        case .mvs: return MVSFormat.parse(line)
        case .mvsMembers:
            return MVSFormat.parseMember(line) ?? (options.format == nil ? nil : MVSFormat.parseMemberName(line))
        case .os2: return OS2Format.parse(line)
        case .nonStop: return NonStopFormat.parse(line)
        case .zvm: return ZVMFormat.parse(line)
        case .vshell: return VShellFormat.parse(line)
        case .vxWorks: return VxWorksFormat.parse(line)
        case .eplf: return EPLFFormat.parse(line)
        case .names: return line.count == 0 ? nil : ListingEntry(nameBytes: line.bytes)
        }
    }
}

/// The options of a ``ListingParser``: information that the listing does not contain, and limits.
public struct ListingOptions: Sendable, Hashable {
    /// The current time, in seconds since 1970 UTC. Dates without a year are assumed to be in the last twelve months.
    public var now: Int64

    /// The format, if it is known. Nil (default) detects the format of each line, except ``ListingFormat/names``.
    public var format: ListingFormat?

    /// The offset of the server's clock from UTC, in seconds; used only to infer years. Default 0.
    public var serverOffset: Int64 = 0

    /// The greatest distance of a date without a year in the future, in seconds. Default one day, because the server's time
    /// zone is unknown.
    public var futureTolerance: Int64 = 86_400

    /// The longest line without its end, in bytes. Default 16 KiB. A longer line is an error.
    public var maximumLineLength = 16 * 1024

    /// Creates options for a listing received at `now`, in seconds since 1970 UTC.
    public init(now: Int64, format: ListingFormat? = nil) {
        self.now = now
        self.format = format
    }
}

/// The formats of the lines in a listing.
public enum ListingFormat: String, Sendable, Hashable, CaseIterable {
    /// Facts and a name: MLSD and MLST (RFC 3659 §7).
    case facts
    /// `ls -l` and its variants, including those of Mac servers.
    case unix
    /// NetWare, with rights in brackets.
    case netware
    /// Windows and IIS.
    case windows
    /// OpenVMS, including long names on a separate line.
    case vms
    /// OS/400 (IBM i), native objects and members.
    case os400
    /// z/OS data sets.
    case mvs
    /// Members of z/OS partitioned data sets.
    case mvsMembers
    /// OS/2.
    case os2
    /// HP NonStop (Guardian).
    case nonStop
    /// z/VM (CMS) files and directories.
    case zvm
    /// VShell: the size, then the date.
    case vshell
    /// VxWorks: the size, then the date with the name of the month.
    case vxWorks
    /// Easily Parsed LIST Format (publicfile, anonftpd).
    case eplf
    /// Names only, as from NLST. Never detected, because it matches any line; set ``ListingOptions/format``.
    case names
}

/// An error that ends the parsing of a listing. A line in an unknown format is not an error; see ``ListingParser/unread``.
public enum ListingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A line is longer than ``ListingOptions/maximumLineLength``, in bytes.
    case lineTooLong(limit: Int)

    /// The message in English.
    public var description: String {
        switch self {
        case .lineTooLong(let limit):
            "A line of the listing has more than \(limit) bytes, so it is not a directory listing."
        }
    }
}
