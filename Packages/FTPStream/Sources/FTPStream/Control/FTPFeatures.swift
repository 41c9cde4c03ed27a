/// What a server said it can do, beyond RFC 959 (FEAT, RFC 2389).
struct FTPFeatures: Sendable, Hashable {
    /// MLSD and MLST.
    var hasFacts = false
    var hasUTF8 = false
    /// What to send in OPTS MLST (RFC 3659 §7.9), if the server keeps back facts that we use.
    private(set) var factsToAsk: [UInt8]?

    init() {}

    init(_ reply: FTPReply) {
        // The first and the last line are talk.
        for line in reply.lines.dropFirst().dropLast() {
            let words = String(decoding: line, as: UTF8.self).uppercased().split(separator: " ")
            switch words.first {
            case "MLST", "MLSD":
                hasFacts = true
                if words.count == 2 { noteFacts(words[1]) }
            case "UTF8": hasUTF8 = true
            default: break
            }
        }
    }

    private static let wanted: Set<Substring> = [
        "TYPE", "SIZE", "MODIFY", "PERM", "UNIX.MODE", "UNIX.OWNER", "UNIX.OWNERNAME", "UNIX.UID", "UNIX.GROUP",
        "UNIX.GROUPNAME", "UNIX.GID",
    ]

    /// `type*;size*;unix.mode;`: those with a star are given unasked.
    private mutating func noteFacts(_ list: Substring) {
        let facts = list.split(separator: ";").prefix(64)
        let names = facts.map { $0.hasSuffix("*") ? $0.dropLast() : $0 }
        let isMissing = zip(facts, names).contains { !$0.hasSuffix("*") && Self.wanted.contains($1) }
        guard isMissing else { return }
        factsToAsk = names.filter(Self.wanted.contains).flatMap { Array($0.lowercased().utf8) + [UInt8(ascii: ";")] }
    }
}
