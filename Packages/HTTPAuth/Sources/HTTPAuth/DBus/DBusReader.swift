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
        guard depth <= 2 * DBusType.depthLimit else { throw .malformedMessage("values are nested too deeply") }
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
