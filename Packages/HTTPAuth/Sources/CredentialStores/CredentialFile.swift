internal import EventLoops
public import HTTPAuth

/// A credential store in an encrypted file, for machines without a desktop key ring.
///
/// ```swift
/// let store = CredentialFile(path: home + "/.config/example/passwords", key: .passphrase(Secret(typed)))
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// ```
///
/// The whole file is encrypted and authenticated with AES-256-GCM. The key is derived from a pass-phrase with scrypt,
/// or from key bytes. Only the user can access the file (mode 0600). It is replaced as a whole: a crash leaves either
/// the old or the new contents. Concurrent writers wait for each other (a lock of a file with the suffix `.lock`).
///
/// The encryption does not hide that the file exists, when it changed or roughly how much it contains. Anyone who can
/// write to the folder can restore an older copy. Without the key the contents are lost.
public final class CredentialFile: CredentialStore {
    /// The key of the file.
    public enum Key: Hashable, Sendable {
        /// A pass-phrase. Deriving the key takes about a tenth of a second, which makes guessing slow.
        case passphrase(Secret)
        /// At least 32 random bytes, from a key file or a hardware token.
        case bytes(Secret)
        /// The path of a file with such bytes, which no other user can read. The first ``CredentialFile/save(_:)`` creates
        /// it if it does not exist. Anyone who can read both files can read the passwords.
        case file(String)
    }

    /// The path of the file.
    public let path: String

    /// The maximum size of the file, in bytes.
    public static let maximumSize = 16 << 20

    /// How long to wait for another program's lock.
    static let lockTimeout = Duration.seconds(10)

    private let key: Key
    /// The keys derived from ``key`` and the file's salt, cached because deriving them from a pass-phrase is slow.
    private let derived = Locked<SealedBox.Keys?>(nil)

    /// Creates a store. The file may be missing; the first ``save(_:)`` creates it.
    public init(path: String, key: Key) {
        self.path = path
        self.key = key
    }

    /// "encrypted file" followed by the path.
    public var name: String { "encrypted file \(path)" }

    /// Verifies that the file can be decrypted, if it exists.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func check() throws(HTTPAuthError) { _ = try read() }

    /// Returns the most recently saved matching credential; nil if none matches or the file does not exist.
    ///
    /// - Throws: `HTTPAuthError.Code.storeLocked` if the key is wrong; `HTTPAuthError.Code.storeMalformed` if the
    ///   file was damaged or modified; `HTTPAuthError.Code.storeNotPrivate` or
    ///   `HTTPAuthError.Code.storeUnavailable`.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        try read().last { query.matches($0.credential) }?.credential
    }

    /// Saves a credential.
    ///
    /// - Throws: The errors of ``find(_:)``; the file is then unchanged.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        try save(credential, at: Environment.time, onStep: { _ in })
    }

    /// Saves a credential, under the lock of the search for an older one.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored` if there is one of the same user and space, or the errors of
    ///   ``find(_:)``; the file is then unchanged.
    public func add(_ credential: Credential) throws(HTTPAuthError) {
        let time = Environment.time
        let count = try change { entries in
            let query = CredentialQuery(credential.space, user: credential.user)
            guard !entries.contains(where: { query.matches($0.credential) }) else { return 0 }
            entries.append(.init(credential: credential, created: time, changed: time))
            return 1
        }
        guard count == 1 else { throw .alreadyStored(credential) }
    }

    /// Removes the matching credentials and returns their number.
    ///
    /// - Throws: The errors of ``find(_:)``; the file is then unchanged.
    @discardableResult
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        try change { entries in
            let count = entries.count
            entries.removeAll { query.matches($0.credential) }
            return count - entries.count
        }
    }
}

extension CredentialFile {
    /// Saves a credential. `onStep` can throw to simulate a crash at that point.
    func save(
        _ credential: Credential, at time: Int64, onStep: (AtomicFile.Step) throws(HTTPAuthError) -> Void
    ) throws(HTTPAuthError) {
        _ = try change(onStep) { entries in
            let query = CredentialQuery(credential.space, user: credential.user)
            let old = entries.filter { query.matches($0.credential) }
            entries.removeAll { query.matches($0.credential) }
            if old.isEmpty { entries.append(.init(credential: credential, created: time, changed: time)) }
            // Entries for several paths have the same credential.
            for var entry in old {
                entry.credential = credential
                entry.changed = time
                entries.append(entry)
            }
            return 1
        }
    }

    /// Reads, modifies and writes the file under the lock. Nothing is written if `body` returns 0.
    private func change(
        _ onStep: (AtomicFile.Step) throws(HTTPAuthError) -> Void = { _ in },
        _ body: (inout [CredentialFileContents.Entry]) -> Int
    ) throws(HTTPAuthError) -> Int {
        let file = AtomicFile(path: path)
        let lock = try file.lock(limit: Self.lockTimeout)
        defer { withExtendedLifetime(lock) {} }
        var entries = try read()
        let count = body(&entries)
        if count == 0 { return 0 }
        var plain = CredentialFileContents.encode(entries)
        defer { plain.wipe() }
        let keys: SealedBox.Keys
        if let known = currentKeys() {
            keys = known
        } else {
            if case .file(let path) = key { try Self.createKey(path) }
            keys = try SealedBox.deriveKeys(key, salt: Environment.random(SealedBox.saltCount))
        }
        derived.withLock { $0 = keys }
        let sealed = try SealedBox.seal(plain, keys, nonce: Environment.random(SealedBox.nonceCount))
        guard sealed.count <= Self.maximumSize else {
            throw HTTPAuthError(.storeUnavailable, detail: "\(path) would exceed \(Self.maximumSize) bytes")
        }
        try file.replace(with: sealed, onStep: onStep)
        return count
    }

    private func read() throws(HTTPAuthError) -> [CredentialFileContents.Entry] {
        guard let sealed = try PrivateFile.readIfPresent(path, limit: Self.maximumSize) else { return [] }
        let header = try SealedBox.Header(sealed)
        let keys: SealedBox.Keys
        if let known = currentKeys(), known.salt == header.salt, known.cost == header.cost {
            keys = known
        } else {
            keys = try SealedBox.deriveKeys(key, salt: header.salt, cost: header.cost)
        }
        var plain = try SealedBox.open(sealed, header, keys)
        defer { plain.wipe() }
        derived.withLock { $0 = keys }
        return try CredentialFileContents.decode(plain)
    }

    /// Creates a key file unless it exists. The caller holds the lock of the store, and the store has no file yet.
    private static func createKey(_ path: String) throws(HTTPAuthError) {
        guard try PrivateFile.readIfPresent(path, limit: SealedBox.maximumKeyFile) == nil else { return }
        var bytes = try Environment.random(32)
        defer { bytes.wipe() }
        try AtomicFile(path: path).replace(with: bytes)
    }

    private func currentKeys() -> SealedBox.Keys? { derived.withLock { $0 } }
}

extension CredentialFile: PasswordStore {
    /// Returns the matching entries.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func entries(_ search: PasswordAttributes) throws(HTTPAuthError) -> [PasswordEntry] {
        try read().compactMap(\.passwordEntry).ranked(for: search)
    }

    /// Returns an entry as it is now.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func current(_ entry: PasswordEntry) throws(HTTPAuthError) -> PasswordEntry? {
        try read().first { $0.isSame(as: entry.attributes) }?.passwordEntry
    }

    /// Returns the password of an entry.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func password(of entry: PasswordEntry) throws(HTTPAuthError) -> Secret? {
        try read().first { $0.isSame(as: entry.attributes) }?.credential.password
    }

    /// Adds an entry, under the lock of the search for an older one.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored`, or the errors of ``find(_:)``; the file is then unchanged.
    public func add(_ password: Secret, _ attributes: PasswordAttributes) throws(HTTPAuthError) -> PasswordEntry {
        let time = Environment.time
        let new = CredentialFileContents.Entry(attributes, password, created: time, changed: time)
        let count = try change { entries in
            if entries.contains(where: { $0.isSame(as: new.attributes) }) { return 0 }
            entries.append(new)
            return 1
        }
        guard count == 1, let entry = new.passwordEntry else { throw .alreadyStored(attributes) }
        return entry
    }

    /// Changes an entry.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored`, or the errors of ``find(_:)``; the file is then unchanged.
    public func change(
        _ entry: PasswordEntry, to attributes: PasswordAttributes, _ password: Secret?
    ) throws(HTTPAuthError) -> PasswordEntry? {
        let time = Environment.time
        var (changed, isTaken): (PasswordEntry?, Bool) = (nil, false)
        _ = try change { entries in
            guard let index = entries.firstIndex(where: { $0.isSame(as: entry.attributes) }),
                let secret = password ?? entries[index].credential.password
            else { return 0 }
            let new = CredentialFileContents.Entry(
                attributes, secret, created: entries[index].created, changed: time,
                accountDomain: entries[index].credential.accountDomain)
            isTaken = entries.indices.contains { $0 != index && entries[$0].isSame(as: new.attributes) }
            if isTaken { return 0 }
            entries.remove(at: index)
            entries.append(new)
            changed = new.passwordEntry
            return 1
        }
        if isTaken { throw .alreadyStored(attributes) }
        return changed
    }

    /// Removes an entry.
    ///
    /// - Throws: The errors of ``find(_:)``; the file is then unchanged.
    public func remove(_ entry: PasswordEntry) throws(HTTPAuthError) -> Bool {
        try change { entries in
            guard let index = entries.firstIndex(where: { $0.isSame(as: entry.attributes) }) else { return 0 }
            entries.remove(at: index)
            return 1
        } == 1
    }
}

extension CredentialFileContents.Entry {
    /// Creates the entry of an internet password.
    fileprivate init(
        _ attributes: PasswordAttributes, _ password: Secret, created: Int64, changed: Int64,
        accountDomain: String? = nil
    ) {
        let scheme = attributes.scheme ?? ""
        let isProxy = scheme.utf8.count > 6 && scheme.utf8.suffix(6).elementsEqual("-proxy".utf8)
        let realm = attributes.realm.flatMap { $0.isEmpty ? nil : $0 }
        let space = ProtectionSpace(
            isProxy ? .proxy : .origin,
            scheme: isProxy ? String(decoding: scheme.utf8.dropLast(6), as: UTF8.self) : scheme,
            host: attributes.server ?? "", port: attributes.port ?? 0, realm: realm)
        self.init(
            credential: Credential(
                user: attributes.user ?? "", accountDomain: accountDomain, proof: .password(password), for: space),
            created: created, changed: changed,
            notes: .init(
                path: attributes.path, authenticationType: attributes.authenticationType, label: attributes.label))
    }

    fileprivate var attributes: PasswordAttributes {
        let space = credential.space
        let scheme = space.role == .proxy ? "\(space.scheme)-proxy" : space.scheme
        return PasswordAttributes(
            server: space.host, scheme: scheme.isEmpty ? nil : scheme, port: space.port == 0 ? nil : space.port,
            realm: space.realm ?? "", user: credential.user, path: notes.path,
            authenticationType: notes.authenticationType, label: notes.label)
    }

    fileprivate func isSame(as other: PasswordAttributes) -> Bool {
        credential.password != nil && attributes.identity == other.identity
    }

    /// The entry as an internet password; nil if it has a hash instead.
    fileprivate var passwordEntry: PasswordEntry? {
        if credential.password == nil { return nil }
        var named = attributes
        named.label = named.label ?? named.usualLabel
        return PasswordEntry(
            attributes: named, created: created / 1_000_000_000, modified: changed / 1_000_000_000, isLocked: false,
            path: nil)
    }
}

/// The encoding of the entries in a ``CredentialFile``: big-endian numbers, and texts and secrets prefixed with their
/// length.
enum CredentialFileContents {
    /// A credential, and the times of its first and last save in nanoseconds since 1970.
    struct Entry: Hashable {
        var credential: Credential
        var created: Int64
        var changed: Int64
        var notes = Notes()
    }

    /// What an internet password has besides its credential.
    struct Notes: Hashable {
        var path: String?
        var authenticationType: String?
        var label: String?

        var isEmpty: Bool { self == Notes() }
        var count: Int { [path, authenticationType, label].reduce(0) { $0 + ($1?.utf8.count ?? 0) + 5 } }
    }

    /// Version 2 has notes. A file without them has version 1, which older programs can read.
    static let versions: ClosedRange<UInt8> = 1...2

    /// Encodes the entries. The bytes contain secrets: the caller wipes them.
    static func encode(_ entries: [Entry]) -> [UInt8] {
        var writer = Writer()
        // Reserved once, because growing would leave copies of secrets in freed memory.
        writer.bytes.reserveCapacity(16 + entries.reduce(0) { $0 + size(of: $1) })
        let hasNotes = !entries.allSatisfy(\.notes.isEmpty)
        writer.number(hasNotes ? versions.upperBound : versions.lowerBound)
        writer.number(UInt32(clamping: entries.count))
        for entry in entries {
            let (credential, space) = (entry.credential, entry.credential.space)
            writer.number(UInt8(space.role == .proxy ? 1 : 0))
            writer.text(space.scheme)
            writer.text(space.host)
            writer.number(UInt32(clamping: space.port))
            writer.optional(space.realm)
            writer.text(credential.user)
            writer.optional(credential.accountDomain)
            switch credential.proof {
            case .password(let secret):
                writer.number(UInt8(0))
                writer.secret(secret)
            case .ntHash(let secret):
                writer.number(UInt8(1))
                writer.secret(secret)
            }
            writer.number(UInt64(bitPattern: entry.created))
            writer.number(UInt64(bitPattern: entry.changed))
            guard hasNotes else { continue }
            for note in [entry.notes.path, entry.notes.authenticationType, entry.notes.label] { writer.optional(note) }
        }
        return writer.bytes
    }

    /// Decodes the entries.
    ///
    /// - Throws: `HTTPAuthError.Code.storeMalformed` for anything that ``encode(_:)`` cannot produce.
    static func decode(_ bytes: [UInt8]) throws(HTTPAuthError) -> [Entry] {
        var reader = Reader(bytes)
        let version = try reader.number(UInt8.self)
        guard versions.contains(version) else {
            throw HTTPAuthError(.storeMalformed, detail: "written by a newer version")
        }
        let count = try reader.number(UInt32.self)
        var entries: [Entry] = []
        for _ in 0..<count {
            let role: ProtectionSpace.Role = try reader.flag() ? .proxy : .origin
            let space = ProtectionSpace(
                role, scheme: try reader.text(), host: try reader.text(), port: Int(try reader.number(UInt32.self)),
                realm: try reader.optional())
            let user = try reader.text()
            let domain = try reader.optional()
            let isHash = try reader.flag()
            let secret = Secret(bytes: try reader.bytes())
            let credential = Credential(
                user: user, accountDomain: domain, proof: isHash ? .ntHash(secret) : .password(secret), for: space)
            var entry = Entry(
                credential: credential, created: Int64(bitPattern: try reader.number(UInt64.self)),
                changed: Int64(bitPattern: try reader.number(UInt64.self)))
            if version == versions.upperBound {
                entry.notes.path = try reader.optional()
                entry.notes.authenticationType = try reader.optional()
                entry.notes.label = try reader.optional()
            }
            entries.append(entry)
        }
        guard reader.isAtEnd else { throw HTTPAuthError(.storeMalformed, detail: "bytes after the last entry") }
        return entries
    }

    private static func size(of entry: Entry) -> Int {
        let (credential, space) = (entry.credential, entry.credential.space)
        let texts = [space.scheme, space.host, space.realm ?? "", credential.user, credential.accountDomain ?? ""]
        let secret: Int
        switch credential.proof {
        case .password(let value), .ntHash(let value): secret = value.count
        }
        return texts.reduce(secret + 64 + entry.notes.count) { $0 + $1.utf8.count }
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func number(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
        }

        mutating func text(_ text: String) {
            number(UInt32(clamping: text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }

        mutating func optional(_ text: String?) {
            number(UInt8(text == nil ? 0 : 1))
            if let text { self.text(text) }
        }

        mutating func secret(_ secret: Secret) {
            number(UInt32(clamping: secret.count))
            secret.withBytes { bytes.append(contentsOf: $0) }
        }
    }

    private struct Reader {
        private let input: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            input = bytes
        }

        var isAtEnd: Bool { offset == input.count }

        mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(HTTPAuthError) -> Number {
            var value: Number = 0
            for byte in try take(Number.bitWidth / 8) { value = value << 8 | Number(truncatingIfNeeded: byte) }
            return value
        }

        mutating func flag() throws(HTTPAuthError) -> Bool {
            let value = try number(UInt8.self)
            guard value <= 1 else {
                throw HTTPAuthError(.storeMalformed, detail: "invalid value before byte \(offset)")
            }
            return value == 1
        }

        mutating func bytes() throws(HTTPAuthError) -> ArraySlice<UInt8> {
            try take(Int(try number(UInt32.self)))
        }

        mutating func text() throws(HTTPAuthError) -> String {
            guard let text = String(validating: try bytes(), as: UTF8.self) else {
                throw HTTPAuthError(.storeMalformed, detail: "invalid value before byte \(offset)")
            }
            return text
        }

        mutating func optional() throws(HTTPAuthError) -> String? {
            try flag() ? try text() : nil
        }

        private mutating func take(_ count: Int) throws(HTTPAuthError) -> ArraySlice<UInt8> {
            guard count <= input.count - offset else { throw HTTPAuthError(.storeMalformed, detail: "truncated") }
            defer { offset += count }
            return input[offset..<offset + count]
        }
    }
}
