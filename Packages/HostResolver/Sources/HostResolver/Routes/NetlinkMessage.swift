/// A message of the kernel's netlink protocol (netlink(7)), in this machine's byte order.
struct NetlinkMessage: Hashable {
    /// The largest datagram that is received, in bytes.
    static let largestDatagram = 65_536

    var type: UInt16
    var flags: UInt16
    var sequence: UInt32
    /// The bytes after the header, without padding.
    var payload: [UInt8]

    static let headerSize = 16

    /// The message as bytes, padded to a multiple of four.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNative(UInt32(Self.headerSize + payload.count))
        bytes.appendNative(type)
        bytes.appendNative(flags)
        bytes.appendNative(sequence)
        bytes.appendNative(UInt32(0))
        bytes += payload
        bytes.padToFour()
        return bytes
    }

    /// Parses all complete messages in a datagram. An invalid length ends the list.
    static func messages(in datagram: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while rest.count >= headerSize {
            let start = rest.startIndex
            let length = Int(rest.native(UInt32.self, at: 0))
            guard length >= headerSize, length <= rest.count else { break }
            messages.append(
                NetlinkMessage(
                    type: rest.native(UInt16.self, at: 4), flags: rest.native(UInt16.self, at: 6),
                    sequence: rest.native(UInt32.self, at: 8), payload: Array(rest[start + headerSize..<start + length])
                ))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return messages
    }

    /// Parses the attributes after the first `offset` bytes of the payload. Of several with one type, the last one
    /// counts.
    func attributes(after offset: Int) -> [UInt16: [UInt8]] {
        var attributes: [UInt16: [UInt8]] = [:]
        var rest = payload.dropFirst(offset)
        while rest.count >= 4 {
            let start = rest.startIndex
            let length = Int(rest.native(UInt16.self, at: 0))
            guard length >= 4, length <= rest.count else { break }
            // The two highest bits are flags.
            attributes[rest.native(UInt16.self, at: 2) & 0x3FFF] = Array(rest[start + 4..<start + length])
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return attributes
    }
}

extension [UInt8] {
    mutating func appendNative(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value) { append(contentsOf: $0) }
    }

    mutating func padToFour() {
        append(contentsOf: repeatElement(0, count: -count & 3))
    }

    /// Appends a netlink attribute.
    mutating func appendAttribute(_ type: UInt16, _ value: [UInt8]) {
        appendNative(UInt16(4 + value.count))
        appendNative(type)
        self += value
        padToFour()
    }
}

extension ArraySlice<UInt8> {
    /// Reads a number in this machine's byte order at `offset` from the start; the bytes must exist.
    func native<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number {
        withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }
}
