/// A reader for NTLM messages: a header with numbers at fixed offsets, and descriptors of fields elsewhere in the
/// message.
///
/// Lengths and offsets come from the peer, and wrong ones have broken many clients. Each is checked: a field that is
/// not entirely inside the message and after its header is rejected.
struct NTLMReader {
    /// The maximum size of a message. No real message comes close, and it also limits what a challenge can make us
    /// send.
    static let maximumByteCount = 16 * 1024

    static let signature: [UInt8] = Array("NTLMSSP\0".utf8)

    let bytes: [UInt8]
    private let type: UInt32
    private let headerSize: Int

    /// Starts reading a message of `type` whose header has at least `headerSize` bytes.
    init(_ bytes: [UInt8], type: UInt32, headerSize: Int) throws(HTTPAuthError) {
        self.bytes = bytes
        self.type = type
        self.headerSize = headerSize
        guard bytes.count <= NTLMReader.maximumByteCount else {
            throw malformed("\(bytes.count) bytes exceed the limit")
        }
        guard bytes.starts(with: NTLMReader.signature) else { throw malformed("it does not start with NTLMSSP") }
        guard bytes.count >= headerSize else { throw malformed("it is truncated after \(bytes.count) bytes") }
        guard number(at: 8) == type else { throw malformed("the type is \(number(at: 8))") }
    }

    /// Returns the type of a message: 1, 2 or 3; nil if the bytes are not an NTLM message.
    static func type(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count >= 12, bytes.starts(with: signature) else { return nil }
        let type = number(bytes, at: 8)
        return (1...3).contains(type) ? type : nil
    }

    /// Returns a 32-bit number in the header.
    func number(at offset: Int) -> UInt32 { NTLMReader.number(bytes, at: offset) }

    /// Returns bytes of the header.
    func bytes(at offset: Int, count: Int) -> [UInt8] { Array(bytes[offset..<offset + count]) }

    /// Returns the bytes of a field whose descriptor (length and offset) is at `offset`. The result is empty if the
    /// length is 0, whatever the offset.
    func field(at offset: Int, _ name: String) throws(HTTPAuthError) -> [UInt8] {
        let length = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
        if length == 0 { return [] }
        let start = Int(number(at: offset + 4))
        guard start >= headerSize else { throw malformed("\(name) starts at byte \(start), inside the header") }
        guard start + length <= bytes.count else {
            throw malformed("\(name) ends at byte \(start + length) of \(bytes.count)")
        }
        return Array(bytes[start..<start + length])
    }

    /// Returns the offset of the payload: the smallest offset of the nonempty fields with descriptors at `offsets`, or
    /// the end.
    func payloadStart(fieldsAt offsets: [Int]) -> Int {
        offsets.filter { bytes[$0] != 0 || bytes[$0 + 1] != 0 }.map { Int(number(at: $0 + 4)) }.min() ?? bytes.count
    }

    /// Returns the version at `offset`, if the flags announce one and it ends before the payload.
    func version(at offset: Int, _ flags: NTLMFlags, before payload: Int) -> NTLMVersion? {
        guard flags.contains(.version), offset + 8 <= min(payload, bytes.count) else { return nil }
        return NTLMVersion(
            major: bytes[offset], minor: bytes[offset + 1],
            build: UInt16(bytes[offset + 2]) | UInt16(bytes[offset + 3]) << 8, revision: bytes[offset + 7])
    }

    /// Returns the error for a malformed message.
    func malformed(_ reason: String) -> HTTPAuthError { .ntlmMessage(type: type, reason) }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
}

/// A writer for NTLM messages: a header with field descriptors, followed by the payload.
struct NTLMWriter {
    private(set) var bytes: [UInt8]
    private var payload: [UInt8] = []
    private let headerSize: Int

    /// Starts a message of `type` whose header, including all descriptors, has `headerSize` bytes.
    init(type: UInt32, headerSize: Int) {
        self.headerSize = headerSize
        bytes = NTLMReader.signature
        bytes.append(littleEndian: type)
    }

    mutating func number(_ value: UInt32) { bytes.append(littleEndian: value) }

    mutating func raw(_ value: [UInt8]) { bytes.append(contentsOf: value) }

    /// Appends a descriptor (the length twice, then the offset) and adds the bytes to the payload. Callers limit fields
    /// to 65535 bytes.
    mutating func field(_ value: [UInt8]) {
        let length = UInt16(value.count)
        bytes.append(littleEndian: length)
        bytes.append(littleEndian: length)
        bytes.append(littleEndian: UInt32(headerSize + payload.count))
        payload += value
    }

    /// Returns the whole message.
    func finished() -> [UInt8] {
        assert(bytes.count == headerSize, "the header has \(bytes.count) bytes, not \(headerSize)")
        return bytes + payload
    }
}

/// Little-endian numbers and UTF-16LE text, the encodings of NTLM.
extension [UInt8] {
    mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Encodes `text` in UTF-16LE.
    init(utf16LittleEndian text: String) {
        self = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    /// The bytes decoded as UTF-16LE. An odd last byte is dropped, and invalid surrogates are replaced. For display,
    /// and for names that are sent back.
    var utf16LittleEndianText: String {
        let units = stride(from: 0, to: count - count % 2, by: 2).map {
            UInt16(self[$0]) | UInt16(self[$0 + 1]) << 8
        }
        return String(decoding: units, as: UTF16.self)
    }
}

extension String {
    /// Uppercases the string as Windows does for NTLM: character by character, and only if the result is one character.
    /// `ß` is unchanged, where ``uppercased()`` yields `SS` and thus another hash.
    var uppercasedByCharacter: String {
        var text = ""
        for scalar in unicodeScalars {
            let mapped = scalar.properties.uppercaseMapping.unicodeScalars
            guard mapped.count == 1, let upper = mapped.first, (upper.value > 0xffff) == (scalar.value > 0xffff) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            text.unicodeScalars.append(upper)
        }
        return text
    }
}

/// Windows file time: units of 100 ns since 1601-01-01 00:00 UTC.
enum FileTime {
    private static let unixEpoch: Int64 = 116_444_736_000_000_000

    /// Returns the file time of a Unix time in nanoseconds; 0 if it is before 1601.
    static func of(unixNanoseconds: Int64) -> UInt64 {
        UInt64(exactly: unixEpoch + unixNanoseconds / 100) ?? 0
    }

    /// Returns the nanoseconds since 1970-01-01; nil if they do not fit.
    static func unixNanoseconds(_ time: UInt64) -> Int64? {
        guard let time = Int64(exactly: time) else { return nil }
        let (units, overflow) = (time - unixEpoch).multipliedReportingOverflow(by: 100)
        return overflow ? nil : units
    }
}
