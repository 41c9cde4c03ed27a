/// The entries of a listing from the first line on that can be read in two ways, until the listing shows which one is right.
///
/// A number of four digits after a time is either its year (`May 28 19:50 2023 notes`, which few servers print) or the beginning of the
/// name (`2023 Budget.xls`). One listing is by one server, so that all its lines decide:
///
/// - A time that no year follows, or a year in place of a time, shows that such numbers belong to names. So do two lines whose names
///   would be equal without them.
/// - If every time has such a number, the numbers are years.
/// - A line that is alone decides by its date (``YearInference/Sign/number(isLikely:isOld:)``).
///
/// The latter two are guesses, unless there are several lines and one of them is so old that `ls` would not have printed its time. A
/// guess is reported, because nothing may be deleted for it.
struct HeldEntries: Sendable {
    /// The most memory of the entries, in bytes. Then those that are here decide.
    static let maximumMemory = 256 << 10

    /// How numbers after times are read.
    enum Decision: Sendable { case undecided, years, names }

    private struct Held: Sendable {
        /// With the number as a part of the name.
        let named: ListingEntry
        /// With the number as the year; nil for an entry that can be read in one way.
        let dated: ListingEntry?
        /// The beginning of the line.
        let line: [UInt8]
    }

    private(set) var decision = Decision.undecided
    /// Whether ``decision`` is a guess.
    private(set) var isGuess = false
    private var held: [Held] = []
    private var memory = 0
    private var isLikely = false
    private var hasOld = false
    /// The entries that are decided, from the index ``first`` on.
    private var ready: [ListingEntry] = []
    private var first = 0

    /// Whether no entry is held, so that the next one need not wait.
    var isEmpty: Bool { held.isEmpty && first == ready.count }

    /// Adds an entry that can be read in two ways.
    mutating func add(
        named: ListingEntry, dated: ListingEntry, _ line: [UInt8], isLikely: Bool, isOld: Bool
    ) {
        self.isLikely = self.isLikely || isLikely
        hasOld = hasOld || isOld
        memory += dated.memorySize
        hold(Held(named: named, dated: dated, line: ListingEntry.prefix(of: line, upTo: UnreadLines.maximumLineLength)))
    }

    /// Adds an entry that can be read in one way.
    mutating func add(_ entry: ListingEntry) {
        if held.isEmpty { ready.append(entry) } else { hold(Held(named: entry, dated: nil, line: [])) }
    }

    private mutating func hold(_ entry: Held) {
        memory += entry.named.memorySize + entry.line.count
        held.append(entry)
    }

    /// Whether the entries that are held take so much memory that they have to decide.
    var isFull: Bool { memory > Self.maximumMemory }

    /// Notes that numbers after times belong to names.
    mutating func showNames() {
        decision = .names
        isGuess = false
        release()
    }

    /// Decides by the entries that are here.
    ///
    /// - Returns: The beginnings of the lines that were read by a guess.
    mutating func decide() -> [[UInt8]] {
        if held.isEmpty { return [] }
        let lines = held.filter { $0.dated != nil }
        if Set(lines.compactMap(\.dated?.nameBytes)).count < lines.count {
            showNames()
            return []
        }
        decision = lines.count > 1 || isLikely ? .years : .names
        isGuess = lines.count == 1 || !hasOld
        release()
        return isGuess ? lines.map(\.line) : []
    }

    private mutating func release() {
        for entry in held { ready.append(decision == .years ? entry.dated ?? entry.named : entry.named) }
        held = []
        memory = 0
    }

    /// Takes the next entry that is decided.
    mutating func next() -> ListingEntry? {
        guard first < ready.count else { return nil }
        defer {
            first += 1
            if first == ready.count || first > 1024 {
                ready.removeFirst(first)
                first = 0
            }
        }
        return ready[first]
    }

    /// Takes all entries that are decided.
    mutating func all() -> [ListingEntry] {
        defer { (ready, first) = ([], 0) }
        return Array(ready[first...])
    }
}
