/// Reads an NTLM message: fixed fields at fixed places, and fields that say where in the message their bytes are.
///
/// Lengths and places come from the peer, and wrong ones broke many clients. Here each is checked against the message:
/// a field lies whole within it and behind its fixed part, or the message is refused.
struct NTLMReader {
    /// No real message comes near it. It bounds what a challenge can make us send back as well.
    static let maximumByteCount = 16 * 1024

    static let signature: [UInt8] = Array("NTLMSSP\0".utf8)

    let bytes: [UInt8]
    private let type: UInt32
    private let fixed: Int

    /// Begins a message of `type` whose fixed part has at least `fixed` bytes.
    init(_ bytes: [UInt8], type: UInt32, fixed: Int) throws(HTTPAuthError) {
        self.bytes = bytes
        self.type = type
        self.fixed = fixed
        guard bytes.count <= NTLMReader.maximumByteCount else { throw refused("\(bytes.count) bytes exceed the limit") }
        guard bytes.starts(with: NTLMReader.signature) else { throw refused("it does not start with NTLMSSP") }
        guard bytes.count >= fixed else { throw refused("it is truncated after \(bytes.count) bytes") }
        guard number(at: 8) == type else { throw refused("the type is \(number(at: 8))") }
    }

    /// The type of a message: 1, 2 or 3, or nil if it is none.
    static func type(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count >= 12, bytes.starts(with: signature) else { return nil }
        let type = number(bytes, at: 8)
        return (1...3).contains(type) ? type : nil
    }

    /// A number of 32 bits within the fixed part.
    func number(at place: Int) -> UInt32 { NTLMReader.number(bytes, at: place) }

    /// Bytes within the fixed part.
    func bytes(at place: Int, count: Int) -> [UInt8] { Array(bytes[place..<place + count]) }

    /// The bytes of the field whose length and place stand at `place`; empty if its length is 0, whatever its place.
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

    /// Where the bytes of the fields begin: the least place of those at `places` that are not empty, or the end.
    func payloadStart(fieldsAt places: [Int]) -> Int {
        places.filter { bytes[$0] != 0 || bytes[$0 + 1] != 0 }.map { Int(number(at: $0 + 4)) }.min() ?? bytes.count
    }

    /// The version at `place`, if the flags say that there is one and it lies before the fields' bytes.
    func version(at place: Int, _ flags: NTLMFlags, before payload: Int) -> NTLMVersion? {
        guard flags.contains(.version), place + 8 <= min(payload, bytes.count) else { return nil }
        return NTLMVersion(
            major: bytes[place], minor: bytes[place + 1],
            build: UInt16(bytes[place + 2]) | UInt16(bytes[place + 3]) << 8, revision: bytes[place + 7])
    }

    /// The error for a message that breaks a rule.
    func refused(_ reason: String) -> HTTPAuthError { .ntlmMessage(type: type, reason) }

    private static func number(_ bytes: [UInt8], at place: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) }
    }
}
