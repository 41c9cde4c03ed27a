/// One line of a directory listing, understood.
///
/// The name is what a stranger sent. It is no path: join ``pathComponent`` to a folder, never ``name``.
///
/// Replaces the dictionary of `CFFTPCreateParsedResourceListing`.
public struct ListingEntry: Sendable, Hashable {
    /// The name as the server sent it. What to send back when the file is wanted. Replaces `kCFFTPResourceName`.
    public var nameBytes: [UInt8]

    /// What it is. Replaces `kCFFTPResourceType`; see ``ListingKind/directoryEntryType``.
    public var kind: ListingKind

    /// How many bytes it has; nil if the line does not tell, as for most directories, links and devices' files.
    ///
    /// Replaces `kCFFTPResourceSize`.
    public var size: UInt64?

    /// False if ``size`` was told in blocks, so that up to 511 bytes fewer may be there.
    public var isSizeExact = true

    /// When it was changed, with what is not certain about that. Replaces `kCFFTPResourceModDate`.
    public var date: ListingDate?

    /// Who owns it, name or number. Replaces `kCFFTPResourceOwner`.
    public var owner: String?

    /// Its group, name or number. Replaces `kCFFTPResourceGroup`.
    public var group: String?

    /// The permission bits with setuid, setgid and sticky: at most 0o7777. Replaces `kCFFTPResourceMode`.
    public var mode: UInt16?

    /// Where a link leads, as the server sent it; nil if it is no link or the line does not tell.
    ///
    /// Replaces `kCFFTPResourceLink`.
    public var linkTargetBytes: [UInt8]?

    /// Whether the line is about the listed directory itself, or the one above.
    public var place = ListingPlace.inside

    /// The facts as they were sent, up to the name; see ``facts``.
    var factBytes: [UInt8] = []

    /// How the line was read.
    public var format: ListingFormat

    /// Makes an entry of which only the name is known, as from NLST.
    public init(nameBytes: [UInt8], kind: ListingKind = .unknown, format: ListingFormat = .names) {
        self.nameBytes = nameBytes
        self.kind = kind
        self.format = format
        place = ListingPlace(nameBytes)
    }
}

extension ListingEntry {
    /// The name as text: as UTF-8 if it is that, else as Latin-1, which takes any bytes.
    public var name: String { ListingEntry.text(nameBytes[...]) }

    /// Where a link leads, as text; see ``name``.
    public var linkTarget: String? { linkTargetBytes.map { ListingEntry.text($0[...]) } }

    /// The facts of MLSD and MLST (RFC 3659 §7.5), names in lower case; empty in other formats.
    ///
    /// Made when asked for: most callers want only what has a property of its own.
    public var facts: [String: String] {
        var facts: [String: String] = [:]
        if factBytes.isEmpty { return facts }
        for fact in Facts(factBytes[...]) {
            facts[ListingEntry.text(fact.name).lowercased()] = ListingEntry.text(fact.value)
        }
        return facts
    }

    /// The name if it can stand for one file in a folder of this machine, else nil.
    ///
    /// Nil for `.`, `..`, names with a slash or NUL, and names over 255 bytes: a server that sends those is broken or
    /// wants to write outside the folder.
    public var pathComponent: [UInt8]? {
        guard (1...255).contains(nameBytes.count), ListingPlace(nameBytes) == .inside,
            !nameBytes.contains(UInt8(ascii: "/")), !nameBytes.contains(0)
        else { return nil }
        return nameBytes
    }

    /// About how much memory the entry takes, with its texts, in bytes: for callers that gather many.
    public var memorySize: Int {
        MemoryLayout<Self>.stride + Self.storageSize(nameBytes.count) + Self.storageSize(factBytes.count)
            + Self.storageSize(linkTargetBytes?.count ?? 0) + Self.storageSize(owner) + Self.storageSize(group)
    }

    /// The memory of an array, with its header and what the allocator adds.
    private static func storageSize(_ count: Int) -> Int { count == 0 ? 0 : count + 48 }

    private static func storageSize(_ text: String?) -> Int {
        guard let count = text?.utf8.count, count > 15 else { return 0 }  // a short string lies in the entry itself
        return storageSize(count)
    }

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = try? UTF8Span(validating: bytes.span) { return String(copying: text) }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}
