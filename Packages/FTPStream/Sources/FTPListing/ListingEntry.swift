/// An entry of a directory listing.
///
/// The name comes from the server and is not trusted. To build a local path, append ``pathComponent`` to a folder, never
/// ``name``.
///
/// Replaces the dictionary of `CFFTPCreateParsedResourceListing`.
public struct ListingEntry: Sendable, Hashable {
    /// The name as the server sent it, for use in commands. Replaces `kCFFTPResourceName`.
    public var nameBytes: [UInt8]

    /// The type of the entry. Replaces `kCFFTPResourceType`; see ``ListingKind/directoryEntryType``.
    public var kind: ListingKind

    /// The size in bytes; nil if the line does not contain it, as for most directories, links and device files.
    ///
    /// Replaces `kCFFTPResourceSize`.
    public var size: UInt64?

    /// Whether ``size`` is exact. False if the line contains the number of blocks, so that the size may be up to 511 bytes smaller,
    /// or a rounded size such as `33.5k`.
    public var isSizeExact = true

    /// The time of the last change, with its precision. Replaces `kCFFTPResourceModDate`.
    public var date: ListingDate?

    /// The owner, a name or number. Replaces `kCFFTPResourceOwner`.
    public var owner: String?

    /// The group, a name or number. Replaces `kCFFTPResourceGroup`.
    public var group: String?

    /// The permission bits including setuid, setgid and sticky: at most 0o7777. Replaces `kCFFTPResourceMode`.
    public var mode: UInt16?

    /// The target of a link as the server sent it; nil if the entry is not a link or the line does not contain the target.
    ///
    /// Replaces `kCFFTPResourceLink`.
    public var linkTargetBytes: [UInt8]?

    /// Whether the entry is in the listed directory, or is the directory itself or its parent.
    public var relation = ListingRelation.inside

    /// The facts as received, without the name; see ``facts``.
    var factBytes: [UInt8] = []

    /// The format of the line.
    public var format: ListingFormat

    /// Creates an entry with only a name, as in the output of NLST.
    public init(nameBytes: [UInt8], kind: ListingKind = .unknown, format: ListingFormat = .names) {
        self.nameBytes = nameBytes
        self.kind = kind
        self.format = format
        relation = ListingRelation(nameBytes)
    }
}

extension ListingEntry {
    /// The name as text: UTF-8 if it is valid, otherwise Latin-1, which allows all bytes.
    public var name: String { ListingEntry.text(nameBytes[...]) }

    /// The target of a link as text; see ``name``.
    public var linkTarget: String? { linkTargetBytes.map { ListingEntry.text($0[...]) } }

    /// The facts of MLSD and MLST (RFC 3659 §7.5), with names in lower case; empty in other formats.
    ///
    /// Computed on each access, because most callers use only the facts that have separate properties.
    public var facts: [String: String] {
        var facts: [String: String] = [:]
        if factBytes.isEmpty { return facts }
        for fact in Facts(factBytes[...]) {
            facts[ListingEntry.text(fact.name).lowercased()] = ListingEntry.text(fact.value)
        }
        return facts
    }

    /// The name if it is valid as a local file name, otherwise nil.
    ///
    /// Nil for `.`, `..`, names with a slash or NUL, empty names, and names of more than 255 bytes. A server that sends such
    /// names is faulty or tries to write outside the folder.
    public var pathComponent: [UInt8]? {
        guard (1...255).contains(nameBytes.count), ListingRelation(nameBytes) == .inside,
            !nameBytes.contains(UInt8(ascii: "/")), !nameBytes.contains(0)
        else { return nil }
        return nameBytes
    }

    /// The approximate memory of the entry and its texts, in bytes, for callers that keep many entries.
    package var memorySize: Int {
        MemoryLayout<Self>.stride + Self.storageSize(nameBytes.count) + Self.storageSize(factBytes.count)
            + Self.storageSize(linkTargetBytes?.count ?? 0) + Self.storageSize(owner) + Self.storageSize(group)
    }

    /// The memory of an array with its header and the allocator's overhead.
    private static func storageSize(_ count: Int) -> Int { count == 0 ? 0 : count + 48 }

    private static func storageSize(_ text: String?) -> Int {
        guard let count = text?.utf8.count, count > 15 else { return 0 }  // a short string is stored inline
        return storageSize(count)
    }

    /// Bytes from a server as text that is safe to print: without control and format characters, such as terminal commands and
    /// changes of text direction.
    package static func shownText(of bytes: [UInt8]) -> String {
        if bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) { return String(decoding: bytes, as: UTF8.self) }
        var shown = ""
        for scalar in text(bytes[...]).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: break
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// At most `limit` bytes from the front of a line, not cut within a UTF-8 sequence.
    package static func prefix(of line: [UInt8], upTo limit: Int) -> [UInt8] {
        guard line.count > limit else { return line }
        var end = limit
        while end > max(0, limit - 3), line[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(line[..<end])
    }

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = try? UTF8Span(validating: bytes.span) { return String(copying: text) }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}

/// The type of an entry of a listing.
public enum ListingKind: Sendable, Hashable, CaseIterable {
    /// A plain file.
    case file
    /// A directory.
    case directory
    /// A symbolic link.
    case link
    /// A character device.
    case characterDevice
    /// A block device.
    case blockDevice
    /// A named pipe.
    case fifo
    /// A Unix socket.
    case socket
    /// Another type, or the line does not contain the type.
    case unknown

    /// The value of `d_type` in `readdir(3)`, as in `kCFFTPResourceType`.
    public var directoryEntryType: UInt8 {
        switch self {
        case .unknown: 0
        case .fifo: 1
        case .characterDevice: 2
        case .directory: 4
        case .blockDevice: 6
        case .file: 8
        case .link: 10
        case .socket: 12
        }
    }
}

/// The relation of an entry to the listed directory.
public enum ListingRelation: Sendable, Hashable {
    /// An entry in the listed directory.
    case inside
    /// The listed directory itself: `.`, or the type `cdir`.
    case current
    /// The parent directory: `..`, or the type `pdir`.
    case parent

    init(_ name: [UInt8]) {
        let dot = UInt8(ascii: ".")
        self = name == [dot] ? .current : name == [dot, dot] ? .parent : .inside
    }
}
