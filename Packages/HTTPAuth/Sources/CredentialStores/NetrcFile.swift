public import HTTPAuth

/// A read-only credential store in a netrc file, in the format of curl and ftp.
///
/// ```swift
/// let netrc = try NetrcFile(path: home + "/.netrc")
/// try netrc.find(CredentialQuery(authentication.space))
/// ```
///
/// An entry is valid for one machine and any realm:
/// - `machine example.org` is valid for every port and scheme of a server that the application named. After a redirect
///   it is valid only for https on port 443.
/// - `machine example.org:8443` is valid for that port only; after a redirect, only for https.
/// - `machine http://example.org:8080` is valid for that scheme and port, also after a redirect.
/// - `default` is valid for servers that the application named, and never after a redirect (CVE-2025-0167,
///   CVE-2022-27774).
///
/// The file is read once, when the object is created, and never written. A credential belongs to the space of the query
/// and cannot be used elsewhere. Proxies use the file only if you add the object to their stores.
public final class NetrcFile: CredentialStore {
    /// The path of the file.
    public let path: String

    /// The parts of the file that were not understood, in order. The rest of the file is used.
    public let skipped: [SkippedLine]

    private let entries: [NetrcParser.Entry]

    /// The maximum size of a file that is read, in bytes.
    public static let maximumSize = 1 << 20

    /// Reads a file.
    ///
    /// A keyword that is unknown is skipped with its value, and an entry with an error is skipped to the next `machine`: see ``skipped``.
    ///
    /// - Throws: `HTTPAuthError.Code.storeUnavailable` if the file cannot be read or is too large;
    ///   `HTTPAuthError.Code.storeNotPrivate` if other users can read it, unless `sharedWithOthers` is true.
    public init(path: String, sharedWithOthers: Bool = false) throws(HTTPAuthError) {
        self.path = path
        var bytes = try PrivateFile.read(path, limit: Self.maximumSize, sharedWithOthers: sharedWithOthers)
        defer { bytes.wipe() }
        (entries, skipped) = bytes.withUnsafeBytes { NetrcParser.parse($0) }
    }

    /// "netrc file" followed by the path.
    public var name: String { "netrc file \(path)" }

    /// Returns false.
    public var isWritable: Bool { false }

    /// Returns false, because the file has already been read.
    public var mayBlock: Bool { false }

    /// Returns the first entry that matches the server and, if given, the user; otherwise the `default`. Entries
    /// without a password are ignored. One without a login has the empty user name, as the tokens of some servers need it, unless a part
    /// of it was skipped: that may have been the login.
    public func find(_ query: CredentialQuery) -> Credential? {
        let (space, user) = (query.space, query.user)
        let login = login(user: user, loginIfMissing: "") {
            $0.matches(space.host, space.port, space.scheme, isNamed: query.isNamed)
        }
        return login.map { Credential(user: $0.user, proof: .password($0.password), for: space) }
    }

    /// Returns the user and password for a host that the application named, for protocols other than HTTP, such as FTP.
    ///
    /// The password is not bound to a protection space. The caller must send it to this host only. Entries without a login are ignored.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - port: The port. Nil if it is unknown; entries with a port do not match then.
    ///   - scheme: The scheme, such as `ftp`. Nil for none; entries with a scheme do not match then.
    ///   - user: The user name; nil matches any user.
    public func login(
        forHost host: String, port: Int? = nil, scheme: String? = nil, user: String? = nil
    ) -> (user: String, password: Secret)? {
        let host = ProtectionSpace.normalized(host: host)
        return login(user: user, loginIfMissing: nil) { $0.matches(host, port, scheme?.lowercased(), isNamed: true) }
    }

    private func login(
        user: String?, loginIfMissing: String?, where matches: (NetrcParser.Entry) -> Bool
    ) -> (user: String, password: Secret)? {
        var fallback: (user: String, password: Secret)?
        for entry in entries {
            guard let login = entry.login ?? (entry.isPartial ? nil : loginIfMissing), let password = entry.password,
                user == nil || user == login,
                matches(entry)
            else { continue }
            if entry.machine != nil { return (login, password) }
            fallback = fallback ?? (login, password)
        }
        return fallback
    }

    /// Throws `HTTPAuthError.Code.storeReadOnly`.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        throw HTTPAuthError(.storeReadOnly, detail: name)
    }

    /// Throws `HTTPAuthError.Code.storeReadOnly`.
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        throw HTTPAuthError(.storeReadOnly, detail: name)
    }
}

/// A parser for netrc files.
///
/// Words are separated by spaces and newlines. A word can be in double quotes, where a backslash escapes the next
/// character, as in curl. A `#` where a keyword is expected begins a comment, and `macdef` skips to the next empty line.
///
/// Keywords are compared without case, and `passwd` and `user` are further names of `password` and `login`.
///
/// What is not understood costs as little as possible: an unknown keyword is skipped with its value, and an error within an
/// entry skips this entry. A value without its keyword never becomes a part of another entry.
struct NetrcParser {
    /// A `machine` entry or the `default` entry.
    struct Entry: Hashable, Sendable {
        /// The server; nil for `default`.
        var machine: Machine?
        var login: String?
        var password: Secret?
        var account: String?
        /// Whether a part of the entry was skipped, which may have been its login.
        var isPartial = false
    }

    private enum Keyword: String { case machine, `default`, login, password, account, macdef }

    /// The keyword that a word stands for, in any case: `passwd` is an alias of ftp, `user` one of Python.
    private static func keyword(_ word: [UInt8]) -> Keyword? {
        let name = AuthGrammar.text(word.map(AuthGrammar.lowercased))
        return switch name {
        case "passwd": .password
        case "user": .login
        default: Keyword(rawValue: name)
        }
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var line = 1
    private var entries: [Entry] = []
    private var skipped: [SkippedLine] = []
    /// Whether there was a keyword.
    private var hasBegun = false
    /// The entry that is being parsed; nil before the first one, and after an error.
    private var entry: Entry?

    private init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        // Editors of other systems begin a file with a byte order mark.
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { offset = 3 }
    }

    /// Parses the entries, in order.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> (entries: [Entry], skipped: [SkippedLine]) {
        var parser = NetrcParser(bytes)
        parser.parse()
        return (parser.entries, parser.skipped)
    }

    private mutating func parse() {
        while let word = keyword() {
            let keyword = Self.keyword(word)
            switch keyword {
            case .login, .password, .account:
                if !hasBegun { skip("keyword before the first machine") }
            case .machine, .default, .macdef, nil: break
            }
            hasBegun = true
            switch keyword {
            case .machine:
                endEntry()
                if let name = value() { entry = Entry(machine: Machine(AuthGrammar.text(name))) }
            case .default:
                endEntry()
                entry = Entry()
            case .login:
                if let login = value() { entry?.login = AuthGrammar.text(login) }
            case .password:
                if var password = value() {
                    entry?.password = Secret(bytes: password)
                    password.wipe()
                }
            case .account:
                if let account = value() { entry?.account = AuthGrammar.text(account) }
            case .macdef: if value() != nil { skipMacro() }
            case nil: skipUnknownKeyword()
            }
        }
        endEntry()
    }

    private mutating func endEntry() {
        if let entry { entries.append(entry) }
        entry = nil
    }

    private mutating func skip(_ reason: String, _ number: Int? = nil) {
        skipped.append(SkippedLine(line: number ?? line, reason: reason))
    }

    /// Skips the value of an unknown keyword, which is the next word unless that is a keyword itself.
    private mutating func skipUnknownKeyword() {
        skip("unknown keyword")
        entry?.isPartial = true
        var ahead = self
        guard let word = ahead.keyword(), Self.keyword(word) == nil else { return }
        (offset, line) = (ahead.offset, ahead.line)
    }

    /// Whether the next word is a keyword by its own name, without quotes.
    private var isAtKeyword: Bool {
        var ahead = self
        guard peek != UInt8(ascii: "\""), let word = ahead.word() else { return false }
        return Keyword(rawValue: AuthGrammar.text(word.map(AuthGrammar.lowercased))) != nil
    }

    /// Returns the next word where a keyword is expected; nil at the end.
    private mutating func keyword() -> [UInt8]? {
        while true {
            skipSpace()
            guard let first = peek else { return nil }
            if first == UInt8(ascii: "#") {
                skipLine()
            } else if let word = word() {
                return word
            } else {
                entry = nil
            }
        }
    }

    /// Returns the value of a keyword. If there is none, or it has no end, nil: the entry is then skipped.
    ///
    /// A keyword on a later line is no value: in `method login`, where `method` is unknown, `login` would take the next `machine` for its
    /// value, and the password of that machine would belong to this one.
    private mutating func value() -> [UInt8]? {
        let number = line
        skipSpace()
        if peek == nil || line > number && isAtKeyword {
            skip("keyword without a value", number)
            entry = nil
            return nil
        }
        let word = word()
        if word == nil { entry = nil }
        return word
    }

    /// Returns the next word; nil at the end, and for a word without its closing quote, whose line is skipped.
    private mutating func word() -> [UInt8]? {
        skipSpace()
        guard let first = peek else { return nil }
        if first == UInt8(ascii: "\"") { return quotedWord() }
        var word: [UInt8] = []
        while let byte = peek, !Self.isSpace(byte) {
            word.append(byte)
            offset += 1
        }
        return word
    }

    private mutating func quotedWord() -> [UInt8]? {
        var word: [UInt8] = []
        offset += 1
        while let byte = peek, byte != UInt8(ascii: "\n") {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return word
            case UInt8(ascii: "\\"):
                guard let next = peek, next != UInt8(ascii: "\n") else { break }
                offset += 1
                switch next {
                case UInt8(ascii: "n"): word.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "r"): word.append(UInt8(ascii: "\r"))
                case UInt8(ascii: "t"): word.append(UInt8(ascii: "\t"))
                default: word.append(next)
                }
            default: word.append(byte)
            }
        }
        word.wipe()
        skip("missing closing quote")
        return nil
    }

    private mutating func skipLine() {
        while let byte = peek, byte != UInt8(ascii: "\n") { offset += 1 }
    }

    private mutating func skipSpace() {
        while let byte = peek, Self.isSpace(byte) {
            offset += 1
            if byte == UInt8(ascii: "\n") { line += 1 }
        }
    }

    private mutating func skipMacro() {
        var isEmpty = false
        while let byte = peek {
            offset += 1
            guard byte == UInt8(ascii: "\n") else {
                if !Self.isSpace(byte) { isEmpty = false }
                continue
            }
            line += 1
            if isEmpty { return }
            isEmpty = true
        }
    }

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
    }
}

extension NetrcParser {
    /// The server of a netrc entry: `[scheme://]host[:port]`. An IPv6 address with a port is in brackets.
    struct Machine: Hashable, Sendable {
        /// The host in lower case, without brackets and a trailing dot.
        let host: String
        /// The scheme in lower case; nil matches any scheme.
        let scheme: String?
        /// The port, or the default port of the scheme; nil matches any port.
        let port: Int?

        init(_ text: String) {
            var rest = text.lowercased()[...]
            var scheme: String?
            if let mark = rest.firstRange(of: "://") {
                scheme = String(rest[..<mark.lowerBound])
                rest = rest[mark.upperBound...]
                if rest.hasSuffix("/") { rest.removeLast() }
            }
            self.scheme = scheme
            // Exactly one colon: an address without brackets has several.
            let colons = rest.utf8.count { $0 == UInt8(ascii: ":") }
            if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")), colons == 1 || rest[..<colon].hasSuffix("]"),
                let port = UInt16(rest[rest.utf8.index(after: colon)...])
            {
                self.port = Int(port)
                rest = rest[..<colon]
            } else {
                port = scheme.flatMap { Self.defaultPorts[$0] }
            }
            host = ProtectionSpace.normalized(host: String(rest))
        }

        private static let defaultPorts = ["http": 80, "https": 443, "ftp": 21, "ftps": 990]
    }
}

extension NetrcParser.Entry {
    /// Returns whether the entry matches a server.
    ///
    /// - Parameters:
    ///   - host: The host, normalized.
    ///   - port: The port; nil if it is unknown.
    ///   - scheme: The scheme in lower case; nil if there is none.
    ///   - isNamed: Whether the application named the server. After a redirect, an entry without a scheme is valid only
    ///     for https, on its own port or 443.
    func matches(_ host: String, _ port: Int?, _ scheme: String?, isNamed: Bool) -> Bool {
        guard let machine else { return isNamed }
        guard machine.host == host, machine.scheme == nil || machine.scheme == scheme,
            machine.port == nil || machine.port == port
        else { return false }
        if isNamed || machine.scheme != nil { return true }
        return scheme == "https" && (machine.port ?? 443) == port
    }
}
