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
