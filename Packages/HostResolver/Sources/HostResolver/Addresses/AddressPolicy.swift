/// The policy table that ranks addresses by prefix (RFC 6724 §2.1), as modified by gai.conf(5).
struct AddressPolicy: Hashable, Sendable {
    /// The maximum number of bytes of a text that are parsed; the rest is ignored.
    static let maximumTextSize = 64 * 1024

    private struct Row: Hashable {
        let prefix: IPPrefix
        let value: Int
    }

    private var labels: [Row]
    private var precedences: [Row]

    /// The default table of RFC 6724 §2.1.
    static let standard: AddressPolicy = {
        let table: [(prefix: IPPrefix, precedence: Int, label: Int)] = [
            (IPPrefix(1, 128), 50, 0),
            (IPPrefix(0, 0), 40, 1),
            (IPPrefix(0xFFFF << 32, 96), 35, 4),
            (IPPrefix(0x2002 << 112, 16), 30, 2),
            (IPPrefix(0x2001 << 112, 32), 5, 5),
            (IPPrefix(0xFC00 << 112, 7), 3, 13),
            (IPPrefix(0, 96), 1, 3),
            (IPPrefix(0xFEC0 << 112, 10), 1, 11),
            (IPPrefix(0x3FFE << 112, 16), 1, 12),
        ]
        return AddressPolicy(
            labels: table.map { Row(prefix: $0.prefix, value: $0.label) },
            precedences: table.map { Row(prefix: $0.prefix, value: $0.precedence) })
    }()

    private init(labels: [Row], precedences: [Row]) {
        self.labels = labels
        self.precedences = precedences
    }

    /// Parses the text of a `gai.conf`.
    ///
    /// As in the C library, a single `label` line replaces all default labels, and a single `precedence` line replaces
    /// all default precedences. Invalid lines are skipped; `scopev4` and `reload` have no effect.
    init(parsing text: String) {
        self = .standard
        var labels: [Row] = []
        var precedences: [Row] = []
        for line in text.utf8.prefix(Self.maximumTextSize).split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.words
            guard words.count == 3, let prefix = IPPrefix(words[1]), let value = Int(words[2]), value >= 0
            else { continue }
            switch words[0] {
            case "label": labels.append(Row(prefix: prefix, value: value))
            case "precedence": precedences.append(Row(prefix: prefix, value: value))
            default: break
            }
        }
        if !labels.isEmpty { self.labels = labels }
        if !precedences.isEmpty { self.precedences = precedences }
    }

    func label(of address: IPAddress) -> Int {
        Self.value(in: labels, for: address)
    }

    func precedence(of address: IPAddress) -> Int {
        Self.value(in: precedences, for: address)
    }

    /// The value of the row with the longest matching prefix; 0 if no row matches.
    private static func value(in rows: [Row], for address: IPAddress) -> Int {
        rows.filter { $0.prefix.contains(address) }.max { $0.prefix.length < $1.prefix.length }?.value ?? 0
    }
}
