@_spi(Packages) internal import EventLoops
internal import FoundationEssentials
internal import HostResolver

/// The domains under which anyone can register a name, such as `com` and `co.uk`. No cookie may belong to one.
///
/// The rules are those of the system's public suffix list (Debian's package `publicsuffix`). Without the list, every domain may be a
/// public suffix, as `github.io` is one: cookies then belong to single hosts only.
struct PublicSuffixes: Sendable {
    /// The rules as in the list: `com`, `*.ck`, `!www.ck`; names in ASCII. Nil without a list.
    private let rules: Set<String>?

    /// The rules for a system without a list.
    static let unknown = PublicSuffixes(rules: nil)

    /// Whether there is a list.
    var areKnown: Bool { rules != nil }

    /// The system's list, or ``unknown``. Read on first use; see ``readSystemList()``.
    static var system: PublicSuffixes { kept.value }

    private static let kept = LateValue<PublicSuffixes> {
        for name in ["public_suffix_list.dat", "effective_tld_names.dat"] {
            let path = "/usr/share/publicsuffix/\(name)"
            guard let text = FileManager.default.contents(atPath: path) else {
                // No descriptor is free, for example.
                if FileManager.default.isReadableFile(atPath: path) { return (.unknown, false) }
                continue
            }
            let suffixes = PublicSuffixes(list: Array(text))
            if suffixes.rules?.isEmpty == false { return (suffixes, true) }
        }
        return (.unknown, true)
    }

    private static let threads = BlockingThreads(limit: 1)

    /// Reads the system's list on another thread, unless it has been read.
    static func readSystemList() async {
        // Without a thread, the list is read by the first use.
        try? await threads.value { _ = PublicSuffixes.system }
    }

    private init(rules: Set<String>?) { self.rules = rules }

    /// Parses a list in the format of publicsuffix.org: a rule per line, comments after `//`.
    init(list: [UInt8]) {
        var rules: Set<String> = []
        rules.reserveCapacity(list.count / 24)
        for line in list.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
            let rule = line.prefix { $0 != 0x20 && $0 != 0x09 }
            guard let first = rule.first, first != UInt8(ascii: "/") else { continue }
            let text = String(decoding: rule, as: UTF8.self)
            if rule.allSatisfy({ $0 < 0x80 }) {
                rules.insert(text.lowercased())
                continue
            }
            let mark = text.hasPrefix("*.") ? "*." : text.hasPrefix("!") ? "!" : ""
            // A rule for a name that cannot be looked up is of no use.
            if let name = try? HostName(String(text.dropFirst(mark.count))) { rules.insert(mark + name.ascii) }
        }
        self.init(rules: rules)
    }

    /// Whether a domain in lower-case ASCII is a public suffix, or may be one.
    func contains(_ domain: some StringProtocol) -> Bool {
        guard let rules else { return true }
        if rules.contains("!\(domain)") { return false }
        guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return true }
        return rules.contains(String(domain)) || rules.contains("*.\(domain[domain.utf8.index(after: dot)...])")
    }

    /// The site of a host: the domain that its owner has registered, or the host itself if it is an address or a public suffix, and
    /// without a list.
    func site(of host: String) -> String {
        guard let rules, IPAddress(host) == nil else { return host }
        var site = host[...]
        while !contains(site), !rules.contains("!\(site)"), let dot = site.utf8.firstIndex(of: UInt8(ascii: ".")) {
            let parent = site[site.utf8.index(after: dot)...]
            if contains(parent) { break }
            site = parent
        }
        return String(site)
    }
}
