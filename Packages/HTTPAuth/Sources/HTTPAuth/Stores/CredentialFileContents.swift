/// The encoding of the entries in a ``CredentialFile``: big-endian numbers, and texts and secrets prefixed with their
/// length.
enum CredentialFileContents {
    /// A credential, and the times of its first and last save in nanoseconds since 1970.
    struct Entry: Hashable {
        var credential: Credential
        var created: Int64
        var changed: Int64
    }

    static let version: UInt8 = 1

    /// Encodes the entries. The bytes contain secrets: the caller wipes them.
    static func encode(_ entries: [Entry]) -> [UInt8] {
        var writer = Writer()
        // Reserved once, because growing would leave copies of secrets in freed memory.
        writer.bytes.reserveCapacity(16 + entries.reduce(0) { $0 + size(of: $1) })
        writer.number(version)
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
        }
        return writer.bytes
    }

    /// Decodes the entries.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeMalformed`` for anything that ``encode(_:)`` cannot produce.
    static func decode(_ bytes: [UInt8]) throws(HTTPAuthError) -> [Entry] {
        var reader = Reader(bytes)
        guard try reader.number(UInt8.self) == version else {
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
            entries.append(
                Entry(
                    credential: credential, created: Int64(bitPattern: try reader.number(UInt64.self)),
                    changed: Int64(bitPattern: try reader.number(UInt64.self))))
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
        return texts.reduce(secret + 64) { $0 + $1.utf8.count }
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
