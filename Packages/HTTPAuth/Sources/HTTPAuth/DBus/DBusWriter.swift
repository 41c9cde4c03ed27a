/// Writes values in the D-Bus wire format, little-endian.
struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(Self.margin)
    }

    /// Free space reserved for the bytes around a secret.
    private static let margin = 4096

    /// Grows the buffer before a secret is written rather than after, so that no copy of the secret stays in freed
    /// memory.
    private mutating func reserve(for secret: Secret) {
        guard bytes.capacity - bytes.count < secret.count + Self.margin else { return }
        var larger: [UInt8] = []
        larger.reserveCapacity(bytes.count + secret.count + 2 * Self.margin)
        larger += bytes
        bytes.wipe()
        bytes = larger
    }

    mutating func wipe() { bytes.wipe() }

    mutating func align(_ boundary: Int) {
        while bytes.count % boundary != 0 { bytes.append(0) }
    }

    mutating func append(_ more: [UInt8]) { bytes += more }

    mutating func number(_ bits: UInt64, size: Int) {
        align(size)
        for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: bits >> (8 * UInt64(index)))) }
    }

    mutating func write(_ value: DBusValue) {
        align(value.type.alignment)
        switch value {
        case .number(let number, let bits): self.number(bits, size: number.size)
        case .string(let text), .path(let text):
            number(UInt64(text.utf8.count), size: 4)
            bytes += text.utf8
            bytes.append(0)
        case .signature(let text): signature(text)
        case .bytes(let secret):
            reserve(for: secret)
            number(UInt64(secret.count), size: 4)
            secret.withBytes { bytes.append(contentsOf: $0) }
        case .array(let type, let elements):
            number(0, size: 4)
            let lengthEnd = bytes.count
            align(type.alignment)  // padding is not part of the length
            let start = bytes.count
            for element in elements { write(element) }
            let count = UInt32(truncatingIfNeeded: bytes.count - start)
            for index in 0..<4 {
                bytes[lengthEnd - 4 + index] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(index)))
            }
        case .structure(let members): for member in members { write(member) }
        case .entry(let key, let value):
            write(key)
            write(value)
        case .variant(let content):
            signature(content.type.text)
            write(content)
        }
    }

    private mutating func signature(_ text: String) {
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }
}
