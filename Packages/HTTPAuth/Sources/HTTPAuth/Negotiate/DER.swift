/// Reads consecutive DER values (X.690 section 10), and never beyond the given bytes.
///
/// Indefinite and non-minimal lengths are rejected: two readers that treat them differently would disagree on what a
/// signature covers.
struct DERReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) {
        rest = ArraySlice(bytes)
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The tag of the next value; nil at the end.
    var nextTag: UInt8? { rest.first }

    /// Returns the contents of the next value, which must have this tag.
    mutating func value(_ tag: UInt8, _ name: String) throws(HTTPAuthError) -> ArraySlice<UInt8> {
        guard let found = rest.first else { throw .spnego("\(name) is missing") }
        guard found == tag else { throw .spnego("\(name) has tag \(found), expected tag \(tag)") }
        var cursor = rest.dropFirst()
        guard let first = cursor.popFirst() else { throw .spnego("\(name) is truncated") }
        var length = Int(first)
        if first >= 0x80 {
            // Four bytes of length exceed any message that gets this far.
            let count = Int(first & 0x7f)
            guard (1...4).contains(count), cursor.count >= count else { throw .spnego("\(name) has an invalid length") }
            length = cursor.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            guard cursor.first != 0, length >= 0x80 else { throw .spnego("\(name) has a non-minimal length") }
            cursor = cursor.dropFirst(count)
        }
        guard length <= cursor.count else { throw .spnego("\(name) is truncated") }
        rest = cursor.dropFirst(length)
        return cursor.prefix(length)
    }

    /// Returns the contents of the next value if it has this tag; otherwise nil.
    mutating func optional(_ tag: UInt8, _ name: String) throws(HTTPAuthError) -> ArraySlice<UInt8>? {
        nextTag == tag ? try value(tag, name) : nil
    }

    /// Returns the contents of the only value, of `tag`, in a value of `outer`; nil if the next value does not have the
    /// tag `outer`.
    mutating func optional(_ outer: UInt8, _ tag: UInt8, _ name: String) throws(HTTPAuthError) -> ArraySlice<UInt8>? {
        guard let contents = try optional(outer, name) else { return nil }
        var inner = DERReader(contents)
        let value = try inner.value(tag, name)
        try inner.end(name)
        return value
    }

    /// Throws if any bytes are left.
    func end(_ name: String) throws(HTTPAuthError) {
        guard rest.isEmpty else { throw .spnego("\(rest.count) unexpected bytes after \(name)") }
    }
}

/// The DER tags of SPNEGO and of the unencrypted part of Kerberos.
enum DERTag {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let identifier: UInt8 = 0x06
    static let enumerated: UInt8 = 0x0a
    static let generalString: UInt8 = 0x1b
    static let sequence: UInt8 = 0x30

    static func application(_ number: UInt8) -> UInt8 { 0x60 | number }

    static func context(_ number: UInt8) -> UInt8 { 0xa0 | number }
}

/// Writes values in DER.
enum DERWriter {
    /// Returns a value: its tag, minimal length and contents.
    static func value(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        var length = [UInt8(truncatingIfNeeded: contents.count)]
        if contents.count >= 0x80 {
            length = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: contents.count >> $0) }
            length = Array(length.drop { $0 == 0 })
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + contents
    }
}
