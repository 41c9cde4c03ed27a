/// Credentials in an encrypted file, for machines without a desktop's key ring.
///
/// ```swift
/// let store = CredentialFile(path: home + "/.config/example/passwords", key: .passphrase(Secret(typed)))
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// ```
///
/// The file is encrypted and authenticated as a whole (AES-256-GCM; the key comes from a pass-phrase by scrypt), belongs to
/// this user alone (mode 0600), and is replaced as a whole: a crash at any moment leaves the old one or the new one.
/// Programs that write at once wait for each other (`flock` on a file beside it, named `.lock`).
///
/// What it does not keep from anyone: that it exists, when it changed and about how much it holds; and who can write to the
/// folder can put an older copy in its place. Who has lost the key has lost the contents.
public final class CredentialFile: CredentialStore {
    /// What opens the file.
    public enum Key: Hashable, Sendable {
        /// Words of a person. Each first use of a file takes about a tenth of a second, so that guessing is slow.
        case passphrase(Secret)
        /// At least 32 random bytes, from a key file or a hardware token.
        case bytes(Secret)
    }

    /// The file.
    public let path: String

    /// The bytes of the largest file that is read or written.
    public static let sizeLimit = 16 << 20

    /// How long to wait for another program that writes.
    public static let lockLimit = Duration.seconds(10)

    private let key: Key
    /// The keys made of pass-phrase and salt; making one is slow on purpose.
    private let derived = Locked<SealedBox.Keys?>(nil)

    /// Makes a store. The file need not exist; the first ``save(_:)`` makes it.
    public init(path: String, key: Key) {
        self.path = path
        self.key = key
    }

    /// "encrypted file" and the path.
    public var name: String { "encrypted file \(path)" }

    /// Opens the file, if there is one. Throws as ``find(_:)``.
    public func check() throws(HTTPAuthError) { _ = try read() }

    /// The credential saved last that fits.
    ///
    /// Throws ``HTTPAuthError/Code/storeLocked`` for a key that does not open the file,
    /// ``HTTPAuthError/Code/storeMalformed`` for one that was damaged or changed, ``HTTPAuthError/Code/storeNotPrivate`` and
    /// ``HTTPAuthError/Code/storeUnavailable``.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        try read().last { query.fits($0.credential) }?.credential
    }

    /// Keeps a credential. Throws as ``find(_:)``; the file is then as it was.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        try save(credential, at: Surroundings.time, onStep: { _ in })
    }

    /// Forgets what fits. Throws as ``find(_:)``; the file is then as it was.
    @discardableResult
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        try change { entries in
            let count = entries.count
            entries.removeAll { query.fits($0.credential) }
            return count - entries.count
        }
    }
}

extension CredentialFile {
    /// Saves; `onStep` may throw, as a crash at that moment would.
    func save(
        _ credential: Credential, at time: Int64, onStep: (AtomicFile.Step) throws(HTTPAuthError) -> Void
    ) throws(HTTPAuthError) {
        _ = try change(onStep) { entries in
            let query = CredentialQuery(credential.space, user: credential.user)
            let old = entries.last { query.fits($0.credential) }
            entries.removeAll { query.fits($0.credential) }
            entries.append(.init(credential: credential, created: old?.created ?? time, changed: time))
            return 1
        }
    }

    /// Reads, changes and writes while no other program does. Nothing is written if nothing was changed.
    private func change(
        _ onStep: (AtomicFile.Step) throws(HTTPAuthError) -> Void = { _ in },
        _ body: (inout [CredentialFileContents.Entry]) -> Int
    ) throws(HTTPAuthError) -> Int {
        let file = AtomicFile(path: path)
        let lock = try file.lock(limit: Self.lockLimit)
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
            keys = try SealedBox.makeKeys(key, salt: Surroundings.random(SealedBox.saltCount))
        }
        derived.withLock { $0 = keys }
        let sealed = try SealedBox.seal(plain, keys, nonce: Surroundings.random(SealedBox.nonceCount))
        guard sealed.count <= Self.sizeLimit else {
            throw HTTPAuthError(.storeUnavailable, detail: "\(path) would exceed \(Self.sizeLimit) bytes")
        }
        try file.replace(with: sealed, onStep: onStep)
        return count
    }

    private func read() throws(HTTPAuthError) -> [CredentialFileContents.Entry] {
        guard let sealed = try PrivateFile.readIfPresent(path, limit: Self.sizeLimit) else { return [] }
        let header = try SealedBox.Header(sealed)
        let keys: SealedBox.Keys
        if let known = currentKeys(), known.salt == header.salt, known.cost == header.cost {
            keys = known
        } else {
            keys = try SealedBox.makeKeys(key, salt: header.salt, cost: header.cost)
        }
        var plain = try SealedBox.open(sealed, header, keys)
        defer { plain.wipe() }
        derived.withLock { $0 = keys }
        return try CredentialFileContents.decode(plain)
    }

    private func currentKeys() -> SealedBox.Keys? { derived.withLock { $0 } }
}
