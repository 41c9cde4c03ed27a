/// A credential store in an encrypted file, for machines without a desktop key ring.
///
/// ```swift
/// let store = CredentialFile(path: home + "/.config/example/passwords", key: .passphrase(Secret(typed)))
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// ```
///
/// The whole file is encrypted and authenticated with AES-256-GCM. The key is derived from a pass-phrase with scrypt,
/// or from key bytes. Only the user can access the file (mode 0600). It is replaced as a whole: a crash leaves either
/// the old or the new contents. Concurrent writers wait for each other (`flock` on a file with the suffix `.lock`).
///
/// The encryption does not hide that the file exists, when it changed or roughly how much it contains. Anyone who can
/// write to the folder can restore an older copy. Without the key the contents are lost.
public final class CredentialFile: CredentialStore {
    /// The key of the file.
    public enum Key: Hashable, Sendable {
        /// A pass-phrase. Deriving the key takes about a tenth of a second for each file, so that guessing is slow.
        case passphrase(Secret)
        /// At least 32 random bytes, from a key file or a hardware token.
        case bytes(Secret)
    }

    /// The path of the file.
    public let path: String

    /// The maximum size of the file, in bytes.
    public static let sizeLimit = 16 << 20

    /// How long to wait for another program's lock.
    public static let lockLimit = Duration.seconds(10)

    private let key: Key
    /// The keys derived from the pass-phrase and salt, cached because the derivation is deliberately slow.
    private let derived = Locked<SealedBox.Keys?>(nil)

    /// Creates a store. The file may be missing; the first ``save(_:)`` creates it.
    public init(path: String, key: Key) {
        self.path = path
        self.key = key
    }

    /// "encrypted file" followed by the path.
    public var name: String { "encrypted file \(path)" }

    /// Decrypts the file, if it exists.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func check() throws(HTTPAuthError) { _ = try read() }

    /// Returns the most recently saved matching credential.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeLocked`` if the key is wrong; ``HTTPAuthError/Code/storeMalformed`` if the
    ///   file was damaged or modified; ``HTTPAuthError/Code/storeNotPrivate`` or
    ///   ``HTTPAuthError/Code/storeUnavailable``.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        try read().last { query.matches($0.credential) }?.credential
    }

    /// Saves a credential.
    ///
    /// - Throws: The errors of ``find(_:)``; the file is then unchanged.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        try save(credential, at: Environment.time, onStep: { _ in })
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
            let old = entries.last { query.matches($0.credential) }
            entries.removeAll { query.matches($0.credential) }
            entries.append(.init(credential: credential, created: old?.created ?? time, changed: time))
            return 1
        }
    }

    /// Reads, modifies and writes the file under the lock. Nothing is written if `body` returns 0.
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
            keys = try SealedBox.deriveKeys(key, salt: Environment.random(SealedBox.saltCount))
        }
        derived.withLock { $0 = keys }
        let sealed = try SealedBox.seal(plain, keys, nonce: Environment.random(SealedBox.nonceCount))
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
            keys = try SealedBox.deriveKeys(key, salt: header.salt, cost: header.cost)
        }
        var plain = try SealedBox.open(sealed, header, keys)
        defer { plain.wipe() }
        derived.withLock { $0 = keys }
        return try CredentialFileContents.decode(plain)
    }

    private func currentKeys() -> SealedBox.Keys? { derived.withLock { $0 } }
}
