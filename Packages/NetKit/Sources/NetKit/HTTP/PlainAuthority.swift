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
            position += 1
            var value: UInt = 0
            while position < bytes.count, case let digit = bytes[position] &- 0x30, digit < 10 {
                value = value &* 10 &+ UInt(digit)
                // No port begins with 0, or is 0.
                guard value > 0, value <= 65535 else { return nil }
                position += 1
            }
            guard value > 0 else { return nil }
            number = UInt16(value)
        }
        port = number
        if position == bytes.count { return }
        switch bytes[position] {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return
        default: return nil
        }
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
        var dots = 0
        var digits = 0
        var value: UInt = 0
        for byte in name {
            if byte == 0x2e {
                guard digits > 0 else { return false }
                (dots, digits, value) = (dots &+ 1, 0, 0)
                continue
            }
            let digit = byte &- 0x30
            guard digit < 10, digits == 0 || value > 0 else { return false }
            value = value &* 10 &+ UInt(digit)
            digits &+= 1
            guard value < 256 else { return false }
        }
        return dots == 3 && digits > 0
    }
}
