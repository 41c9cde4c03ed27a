/// A D-Bus message (D-Bus specification, "Message format").
struct DBusMessage: Hashable {
    enum Kind: UInt8 {
        case call = 1
        case reply = 2
        case error = 3
        case signal = 4
    }

    /// The header fields that this package reads or writes, with their codes.
    enum Field: UInt8 {
        case path = 1
        case interface = 2
        case member = 3
        case errorName = 4
        case replySerial = 5
        case destination = 6
        case sender = 7
        case signature = 8
    }

    /// The maximum size of a message that is read, in bytes: far more than the passwords for one server.
    static let sizeLimit = 1 << 20
    /// The number of leading bytes that determine the length of a message.
    static let prefixCount = 16

    var kind: Kind
    var serial: UInt32 = 0
    var fields: [Field: DBusValue] = [:]
    var body: [DBusValue] = []

    /// Creates a method call.
    static func call(
        _ member: String, _ interface: String, at path: String, of destination: String, _ body: [DBusValue] = []
    ) -> DBusMessage {
        DBusMessage(
            kind: .call,
            fields: [
                .path: .path(path), .interface: .string(interface), .member: .string(member),
                .destination: .string(destination),
            ], body: body)
    }

    /// Returns the encoded message. It may contain secrets: the caller wipes it.
    func encoded() -> [UInt8] {
        var content = DBusWriter()
        for value in body { content.write(value) }
        defer { content.wipe() }
        var fields = fields
        if !body.isEmpty { fields[.signature] = .signature(body.map(\.type.text).joined()) }
        var head = DBusWriter()
        head.append([UInt8(ascii: "l"), kind.rawValue, 0, 1])
        head.number(UInt64(content.bytes.count), size: 4)
        head.number(UInt64(serial), size: 4)
        head.write(
            .array(
                .structure([.byte, .variant]),
                fields.sorted { $0.key.rawValue < $1.key.rawValue }.map { field, value in
                    .structure([.number(.byte, UInt64(field.rawValue)), .variant(value)])
                }))
        head.align(8)
        head.append(content.bytes)
        return head.bytes
    }

    /// Returns the length of the message that starts with these ``prefixCount`` bytes.
    static func length(ofPrefix prefix: [UInt8]) throws(HTTPAuthError) -> Int {
        guard prefix.count == prefixCount, let isBigEndian = isBigEndian(prefix[0]), prefix[3] == 1 else {
            throw .malformedMessage("the protocol version is not 1")
        }
        func number(at offset: Int) -> Int {
            let piece = prefix[offset..<offset + 4]
            return (isBigEndian ? Array(piece) : piece.reversed()).reduce(0) { $0 << 8 | Int($1) }
        }
        let length = (prefixCount + number(at: 12) + 7) / 8 * 8 + number(at: 4)
        guard length <= sizeLimit else { throw .malformedMessage("\(length) bytes exceed the limit of \(sizeLimit)") }
        return length
    }

    /// Decodes a whole message; nil for a message of an unknown type, which must be ignored.
    static func decode(_ bytes: [UInt8]) throws(HTTPAuthError) -> DBusMessage? {
        guard bytes.count >= prefixCount, let isBigEndian = isBigEndian(bytes[0]),
            try length(ofPrefix: Array(bytes[..<prefixCount])) == bytes.count
        else { throw .malformedMessage("truncated") }
        guard let kind = Kind(rawValue: bytes[1]) else { return nil }
        var reader = DBusReader(bytes[...], isBigEndian: isBigEndian, from: 8)
        let serial = try reader.value(.number(.uint32)).bits ?? 0
        var message = DBusMessage(kind: kind, serial: UInt32(truncatingIfNeeded: serial))
        for field in try reader.value(.array(.structure([.byte, .variant]))).elements ?? [] {
            guard let members = field.members, let code = members[0].bits, let value = members[1].content else {
                continue
            }
            if let field = Field(rawValue: UInt8(truncatingIfNeeded: code)) { message.fields[field] = value }
        }
        try reader.align(8)
        if case .signature(let signature)? = message.fields[.signature] {
            for type in try DBusType.parse(signature) { message.body.append(try reader.value(type)) }
        }
        guard reader.isAtEnd else { throw .malformedMessage("bytes after the last value") }
        return message
    }

    private static func isBigEndian(_ mark: UInt8) -> Bool? {
        switch mark {
        case UInt8(ascii: "l"): false
        case UInt8(ascii: "B"): true
        default: nil
        }
    }
}
