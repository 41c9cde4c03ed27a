@_spi(Packages) public import StreamKit

/// A path on a server with wildcards in its components, such as `pub/*.txt`.
///
/// ```swift
/// for match in try await client.matches("pub/19??/*.txt") { print(match.path, match.entry?.size ?? 0) }
/// ```
///
/// `*` stands for any characters and `?` for one, within a component of the path; a backslash makes the next character literal.
/// A name that begins with a dot matches only a pattern that does. The server never receives a wildcard: the pattern is compared
/// with the entries of its directories.
public struct FTPPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    let components: [[Wildcard]]
    private let isAbsolute: Bool

    /// Creates a pattern of bytes.
    public init(bytes: [UInt8]) {
        var components: [[Wildcard]] = [[]]
        var isEscaped = false
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "/"): components.append([])
            case _ where isEscaped: components[components.count - 1].append(.byte(byte))
            case UInt8(ascii: "\\"):
                isEscaped = true
                continue
            case UInt8(ascii: "*"): components[components.count - 1].append(.anyCharacters)
            case UInt8(ascii: "?"): components[components.count - 1].append(.anyCharacter)
            default: components[components.count - 1].append(.byte(byte))
            }
            isEscaped = false
        }
        self.components = components.filter { !$0.isEmpty }
        isAbsolute = bytes.first == UInt8(ascii: "/")
    }

    /// Creates a pattern of text, encoded as UTF-8.
    public init(stringLiteral text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Whether the pattern has a wildcard. Without one, it matches one path.
    public var hasWildcards: Bool { components.contains { FTPPattern.literal($0) == nil } }

    /// The directory where the comparison begins.
    var root: FTPPath { isAbsolute ? "/" : "" }

    /// The bytes of a component without wildcards; nil if it has some.
    static func literal(_ component: [Wildcard]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for element in component {
            guard case .byte(let byte) = element else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Whether a name matches a component.
    static func matches(_ name: [UInt8], _ component: [Wildcard]) -> Bool {
        if name.first == UInt8(ascii: "."), component.first != .byte(UInt8(ascii: ".")) { return false }
        return Wildcard.matches(name, component)
    }
}

/// A path that matches an ``FTPPattern``.
public struct FTPMatch: Sendable, Hashable {
    /// The path.
    public var path: FTPPath
    /// The entry of its directory; nil if the last component of the pattern has no wildcard, so that no directory was listed.
    public var entry: ListingEntry?
}

extension FTPClient {
    /// The most paths that ``matches(_:onUnread:)`` returns.
    static let maximumMatches = 100_000

    /// Returns the paths that match a pattern, sorted by name within each directory.
    ///
    /// A pattern without wildcards is returned as it is, whether or not the path exists. Directories that a wildcard finds and the
    /// server refuses to list have no matches.
    ///
    /// - Parameters:
    ///   - pattern: the pattern.
    ///   - onUnread: called for a directory whose listing has lines that could not be read, each of which may stand for a match.
    /// - Throws: The server's refusal of a directory that the pattern names; an error for more than 100,000 paths.
    public nonisolated(nonsending) func matches(
        _ pattern: FTPPattern, onUnread: (FTPPath, UnreadLines) -> Void = { _, _ in }
    ) async throws(StreamError) -> [FTPMatch] {
        var found = [FTPMatch(path: pattern.root)]
        for (depth, component) in pattern.components.enumerated() {
            // Behind a wildcard, only existing names match.
            if let parent = found.first, parent.entry == nil, let name = FTPPattern.literal(component) {
                found = [FTPMatch(path: parent.path.appending(name))]
                continue
            }
            let isLast = depth == pattern.components.count - 1
            var next: [FTPMatch] = []
            for parent in found {
                let entries: [ListingEntry]
                do throws(StreamError) {
                    let listing = try await listing(parent.path)
                    if !listing.unread.isEmpty { onUnread(parent.path, listing.unread) }
                    entries = listing.entries
                } catch  where parent.entry != nil && TreeTransfer.isRefusal(error) {
                    continue
                }
                for entry in entries.sorted(by: { $0.name < $1.name }) {
                    guard let name = entry.pathComponent, FTPPattern.matches(name, component) else { continue }
                    if !isLast, entry.kind == .file { continue }
                    next.append(FTPMatch(path: parent.path.appending(name), entry: entry))
                    guard next.count <= FTPClient.maximumMatches else { throw .tooManyMatches }
                }
            }
            found = next
        }
        return found
    }
}

extension StreamError {
    fileprivate static let tooManyMatches = StreamError(
        domain: .ftp, code: 200,
        sentence: Sentence("ftp.matches", "The pattern matches more than \(FTPClient.maximumMatches) paths."))
}
