internal import FoundationEssentials

/// Scheme, host and port of a URL that is written plainly: `http` or `https`, a host of lower-case ASCII or an IPv4 address in
/// its usual form, perhaps a port, no user.
///
/// Nearly all are. Read off the bytes here, they need no parsing of names; every other URL takes the long way, and nothing
/// is accepted here that is refused there.
struct PlainAuthority {
    let isSecure: Bool
    let host: String
    let port: UInt16?

    init?(_ url: URL) {
        var text = url.absoluteString
        guard let plain = text.withUTF8({ PlainAuthority($0) }) else { return nil }
        self = plain
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var position = 4
        guard bytes.count > 10, bytes[0] == 0x68, bytes[1] == 0x74, bytes[2] == 0x74, bytes[3] == 0x70 else {
            return nil
        }
        isSecure = bytes[4] == UInt8(ascii: "s")
        if isSecure { position += 1 }
        guard bytes[position] == UInt8(ascii: ":"), bytes[position + 1] == UInt8(ascii: "/"),
            bytes[position + 2] == UInt8(ascii: "/")
        else { return nil }
        position += 3

        let start = position
        while position < bytes.count, PlainAuthority.isHostByte(bytes[position]) { position += 1 }
        let name = UnsafeBufferPointer(rebasing: bytes[start..<position])
        guard let first = name.first,
            first < 0x3a ? PlainAuthority.isAddress(name) || PlainAuthority.isName(name) : PlainAuthority.isName(name)
        else { return nil }
        host = String(decoding: name, as: UTF8.self)

        var number: UInt16?
        if position < bytes.count, bytes[position] == UInt8(ascii: ":") {
            let digits = bytes[(position + 1)...].prefix { (0x30...0x39).contains($0) }
            guard let value = PlainAuthority.number(digits, upTo: 65535), value > 0 else { return nil }
            number = UInt16(value)
            position = digits.endIndex
        }
        port = number
        guard
            position == bytes.count
                || [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(bytes[position])
        else { return nil }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7a, 0x30...0x39, 0x2d, 0x2e: true
        default: false
        }
    }

    /// Labels of letters, digits and inner hyphens; the last begins with a letter, so that it is no way to write a number.
    private static func isName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count <= 253 else { return false }
        var labelStart = 0
        var index = 0
        while true {
            if index == name.count || name[index] == 0x2e {
                guard index > labelStart, index - labelStart <= 63, name[labelStart] != 0x2d, name[index - 1] != 0x2d
                else { return false }
                if index == name.count { return name[labelStart] >= 0x61 }
                labelStart = index + 1
            }
            index += 1
        }
    }

    /// Four numbers without leading zeros.
    private static func isAddress(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        var parts = 0
        var start = 0
        while let end = name[start...].firstIndex(of: 0x2e) ?? (parts == 3 ? name.count : nil) {
            guard number(name[start..<end], upTo: 255) != nil else { return false }
            parts += 1
            if end == name.count { return parts == 4 }
            start = end + 1
        }
        return false
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>, upTo limit: Int) -> Int? {
        guard (1...5).contains(digits.count), digits.count == 1 || digits.first != 0x30 else { return nil }
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value <= limit ? value : nil
    }
}
