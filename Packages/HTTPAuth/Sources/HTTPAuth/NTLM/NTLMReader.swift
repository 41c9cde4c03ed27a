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
    private let fixed: Int

    /// Starts reading a message of `type` whose header has at least `fixed` bytes.
    init(_ bytes: [UInt8], type: UInt32, fixed: Int) throws(HTTPAuthError) {
        self.bytes = bytes
        self.type = type
        self.fixed = fixed
        guard bytes.count <= NTLMReader.maximumByteCount else { throw refused("\(bytes.count) bytes exceed the limit") }
        guard bytes.starts(with: NTLMReader.signature) else { throw refused("it does not start with NTLMSSP") }
        guard bytes.count >= fixed else { throw refused("it is truncated after \(bytes.count) bytes") }
        guard number(at: 8) == type else { throw refused("the type is \(number(at: 8))") }
    }

    /// Returns the type of a message: 1, 2 or 3; nil if the bytes are not an NTLM message.
    static func type(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count >= 12, bytes.starts(with: signature) else { return nil }
        let type = number(bytes, at: 8)
        return (1...3).contains(type) ? type : nil
    }

    /// Returns a 32-bit number in the header.
    func number(at place: Int) -> UInt32 { NTLMReader.number(bytes, at: place) }

    /// Returns bytes of the header.
    func bytes(at place: Int, count: Int) -> [UInt8] { Array(bytes[place..<place + count]) }

    /// Returns the bytes of a field whose descriptor (length and offset) is at `place`. The result is empty if the
    /// length is 0, whatever the offset.
    func field(at place: Int, _ name: String) throws(HTTPAuthError) -> [UInt8] {
        let length = Int(bytes[place]) | Int(bytes[place + 1]) << 8
        if length == 0 { return [] }
        let start = Int(number(at: place + 4))
        guard start >= fixed else { throw refused("\(name) starts at byte \(start), inside the header") }
        guard start + length <= bytes.count else {
            throw refused("\(name) ends at byte \(start + length) of \(bytes.count)")
        }
        return Array(bytes[start..<start + length])
    }

    /// Returns the offset of the payload: the smallest offset of the nonempty fields with descriptors at `places`, or
    /// the end.
    func payloadStart(fieldsAt places: [Int]) -> Int {
        places.filter { bytes[$0] != 0 || bytes[$0 + 1] != 0 }.map { Int(number(at: $0 + 4)) }.min() ?? bytes.count
    }

    /// Returns the version at `place`, if the flags announce one and it ends before the payload.
    func version(at place: Int, _ flags: NTLMFlags, before payload: Int) -> NTLMVersion? {
        guard flags.contains(.version), place + 8 <= min(payload, bytes.count) else { return nil }
        return NTLMVersion(
            major: bytes[place], minor: bytes[place + 1],
            build: UInt16(bytes[place + 2]) | UInt16(bytes[place + 3]) << 8, revision: bytes[place + 7])
    }

    /// Returns the error for a malformed message.
    func refused(_ reason: String) -> HTTPAuthError { .ntlmMessage(type: type, reason) }

    private static func number(_ bytes: [UInt8], at place: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) }
    }
}
