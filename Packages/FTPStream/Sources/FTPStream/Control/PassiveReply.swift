/// Where the server waits for a data connection: a port, and nothing else is believed.
enum PassiveReply {
    /// The port in the answer to EPSV (RFC 2428 §3): `(|||6446|)`, with any delimiter.
    static func extendedPort(_ reply: FTPReply) -> UInt16? {
        guard let line = reply.lines.last, let open = line.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        let text = line[(open + 1)...].prefix { $0 != UInt8(ascii: ")") }
        guard let delimiter = text.first, (33...126).contains(delimiter), !(0x30...0x39).contains(delimiter) else {
            return nil
        }
        let parts = text.split(separator: delimiter, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[4].isEmpty else { return nil }
        return port(parts[3])
    }

    /// The port in the answer to PASV (RFC 959 §4.1.2): the last two of six numbers. The address is another host's business:
    /// whoever believes it can be sent anywhere (CVE-2020-8284).
    static func port(_ reply: FTPReply) -> UInt16? {
        guard let line = reply.lines.last else { return nil }
        // Some leave the brackets out, so the first run of six numbers counts.
        let isPart = { (byte: UInt8) in (0x30...0x39).contains(byte) || byte == UInt8(ascii: ",") || byte == 0x20 }
        for run in line.split(whereSeparator: { !isPart($0) }) {
            let parts = run.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .map { $0.filter { $0 != 0x20 } }
            guard parts.count == 6 else { continue }
            let numbers = parts.compactMap { $0.count <= 3 ? UInt8(String(decoding: $0, as: UTF8.self)) : nil }
            guard numbers.count == 6 else { continue }
            let port = UInt16(numbers[4]) << 8 | UInt16(numbers[5])
            return port == 0 ? nil : port
        }
        return nil
    }

    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }), (1...5).contains(digits.count),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { return nil }
        return port
    }
}
