internal import HostResolver

extension DNSRecordData {
    /// Reads a record's data as dns_sd.h has it: on its own, its names written out; nil if it is damaged.
    init?(wire bytes: [UInt8], type: DNSRecordType) {
        guard let length = UInt16(exactly: bytes.count) else { return nil }
        // HostResolver reads whole messages: this is one, with one record of the root.
        let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        let record: [UInt8] = [
            0, UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255), 0, 1, 0, 0, 0, 0, UInt8(length >> 8),
            UInt8(length & 255),
        ]
        guard let message = try? DNSMessage(wire: header + record + bytes), let first = message.answers.first else {
            return nil
        }
        self = first.data
    }
}
