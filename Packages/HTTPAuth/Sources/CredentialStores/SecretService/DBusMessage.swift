internal import HTTPAuth

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
    static let maximumSize = 1 << 20
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
        guard length <= maximumSize else {
            throw .malformedMessage("\(length) bytes exceed the limit of \(maximumSize)")
        }
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

/// Reads values in the D-Bus wire format, in either byte order. Any input either throws or yields a value whose size is
/// at most a constant multiple of the input's.
struct DBusReader {
    private let bytes: ArraySlice<UInt8>
    private let isBigEndian: Bool
    private var offset: Int

    /// - Parameter start: The offset of the first value. Alignment counts from the start of `bytes`.
    init(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool, from start: Int = 0) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
        offset = start
    }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func align(_ boundary: Int) throws(HTTPAuthError) {
        let rest = offset % boundary
        guard rest != 0 else { return }
        guard try take(boundary - rest).allSatisfy({ $0 == 0 }) else { throw .malformedMessage("nonzero padding") }
    }

    /// Reads a value of a type. Variants may be nested as deeply as types.
    mutating func value(_ type: DBusType, depth: Int = 0) throws(HTTPAuthError) -> DBusValue {
        guard depth <= 2 * DBusType.maximumDepth else { throw .malformedMessage("values are nested too deeply") }
        try align(type.alignment)
        switch type {
        case .number(let number):
            let bits = try self.number(number.size)
            guard number != .boolean || bits <= 1 else { throw .malformedMessage("invalid boolean") }
            return .number(number, bits)
        case .string: return .string(try text(lengthSize: 4))
        case .path:
            let path = try text(lengthSize: 4)
            guard DBusValue.isPath(path) else { throw .malformedMessage("invalid object path") }
            return .path(path)
        case .signature: return .signature(try text(lengthSize: 1))
        case .array(let element):
            let count = Int(try number(4))
            try align(element.alignment)
            guard count <= bytes.count - offset else { throw .malformedMessage("truncated") }
            if element == .byte { return .bytes(Secret(bytes: try take(count))) }
            let end = offset + count
            var elements: [DBusValue] = []
            while offset < end { elements.append(try value(element, depth: depth + 1)) }
            guard offset == end else { throw .malformedMessage("array elements exceed the array length") }
            return .array(element, elements)
        case .structure(let types):
            var members: [DBusValue] = []
            for type in types { members.append(try value(type, depth: depth + 1)) }
            return .structure(members)
        case .entry(let key, let content):
            return .entry(try value(key, depth: depth + 1), try value(content, depth: depth + 1))
        case .variant:
            let types = try DBusType.parse(try text(lengthSize: 1))
            guard types.count == 1 else { throw .malformedMessage("variant with \(types.count) types") }
            return .variant(try value(types[0], depth: depth + 1))
        }
    }

    private mutating func number(_ size: Int) throws(HTTPAuthError) -> UInt64 {
        let piece = try take(size)
        return isBigEndian
            ? piece.reduce(0) { $0 << 8 | UInt64($1) } : piece.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func text(lengthSize: Int) throws(HTTPAuthError) -> String {
        let piece = try take(Int(try number(lengthSize)))
        guard try take(1).first == 0, !piece.contains(0), let text = String(validating: piece, as: UTF8.self) else {
            throw .malformedMessage("invalid string")
        }
        return text
    }

    private mutating func take(_ count: Int) throws(HTTPAuthError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw .malformedMessage("truncated") }
        defer { offset += count }
        return bytes[bytes.startIndex + offset..<bytes.startIndex + offset + count]
    }
}

/// Writes values in the D-Bus wire format, little-endian.
private struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(Self.margin)
    }

    /// Free space reserved for the bytes around a secret.
    private static let margin = 4096

    /// Grows the buffer before a secret is written rather than after, so that no copy of the secret stays in freed
    /// memory.
    private mutating func reserve(for secret: Secret) {
        guard bytes.capacity - bytes.count < secret.count + Self.margin else { return }
        var larger: [UInt8] = []
        larger.reserveCapacity(bytes.count + secret.count + 2 * Self.margin)
        larger += bytes
        bytes.wipe()
        bytes = larger
    }

    mutating func wipe() { bytes.wipe() }

    mutating func align(_ boundary: Int) {
        while bytes.count % boundary != 0 { bytes.append(0) }
    }

    mutating func append(_ more: [UInt8]) { bytes += more }

    mutating func number(_ bits: UInt64, size: Int) {
        align(size)
        for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: bits >> (8 * UInt64(index)))) }
    }

    mutating func write(_ value: DBusValue) {
        align(value.type.alignment)
        switch value {
        case .number(let number, let bits): self.number(bits, size: number.size)
        case .string(let text), .path(let text):
            number(UInt64(text.utf8.count), size: 4)
            bytes += text.utf8
            bytes.append(0)
        case .signature(let text): signature(text)
        case .bytes(let secret):
            reserve(for: secret)
            number(UInt64(secret.count), size: 4)
            secret.withBytes { bytes.append(contentsOf: $0) }
        case .array(let type, let elements):
            number(0, size: 4)
            let lengthEnd = bytes.count
            align(type.alignment)  // padding is not part of the length
            let start = bytes.count
            for element in elements { write(element) }
            let count = UInt32(truncatingIfNeeded: bytes.count - start)
            for index in 0..<4 {
                bytes[lengthEnd - 4 + index] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(index)))
            }
        case .structure(let members): for member in members { write(member) }
        case .entry(let key, let value):
            write(key)
            write(value)
        case .variant(let content):
            signature(content.type.text)
            write(content)
        }
    }

    private mutating func signature(_ text: String) {
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }
}
