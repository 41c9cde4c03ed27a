/// Writes an NTLM message: the fixed part, in which fields say where their bytes are, then those bytes.
struct NTLMWriter {
    private(set) var bytes: [UInt8]
    private var payload: [UInt8] = []
    private let fixed: Int

    /// Begins a message of `type` whose fixed part, fields and all, has `fixed` bytes.
    init(type: UInt32, fixed: Int) {
        self.fixed = fixed
        bytes = NTLMReader.signature
        bytes.append(littleEndian: type)
    }

    mutating func number(_ value: UInt32) { bytes.append(littleEndian: value) }

    mutating func raw(_ value: [UInt8]) { bytes.append(contentsOf: value) }

    /// The length twice, the place, and later the bytes. Callers bound their fields to 65535 bytes.
    mutating func field(_ value: [UInt8]) {
        let length = UInt16(value.count)
        bytes.append(littleEndian: length)
        bytes.append(littleEndian: length)
        bytes.append(littleEndian: UInt32(fixed + payload.count))
        payload += value
    }

    /// The whole message.
    func finished() -> [UInt8] {
        assert(bytes.count == fixed, "the header has \(bytes.count) bytes, not \(fixed)")
        return bytes + payload
    }
}
