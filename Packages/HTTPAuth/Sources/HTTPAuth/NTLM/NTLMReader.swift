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
