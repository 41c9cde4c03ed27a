@_spi(Packages) internal import EventLoops
@_spi(Packages) internal import HostResolver

/// The name of this computer, which is the default name of a published service.
///
/// ```swift
/// ComputerName.current                 // "Anna's desk"
/// ```
///
/// Replaces `SCDynamicStoreCopyComputerName`.
public enum ComputerName {
    /// The pretty host name that `hostnamectl` sets (machine-info(5)), otherwise the host name without its domain. It
    /// is shortened to 63 bytes of UTF-8, the limit of a service's name, at a character boundary.
    ///
    /// Each access reads it again; the names of published services do not follow a change.
    public static var current: String {
        fitting(pretty(file("/etc/machine-info")) ?? String(HostLabel.ofThisMachine.prefix { $0 != "." }))
    }

    /// The value of `PRETTY_HOSTNAME` in `/etc/machine-info`, which uses the syntax of shell variables; nil if it is
    /// missing or cannot be a name.
    static func pretty(_ text: String) -> String? {
        let key = "PRETTY_HOSTNAME="
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
        guard let line = lines.last(where: { $0.starts(with: key.utf8) }) else { return nil }
        var name = ""
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in Substring(line.dropFirst(key.utf8.count)).unicodeScalars {
            if isEscaped {
                name.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\", quote != "'" {
                isEscaped = true
            } else if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "\"" || scalar == "'" {
                quote = scalar
            } else {
                name.unicodeScalars.append(scalar)
            }
        }
        let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
        return name.allSatisfy(\.isWhitespace) || hasControls ? nil : name
    }

    static func fitting(_ name: String) -> String {
        var name = name
        while name.utf8.count > ServiceInstance.maximumNameLength { name.removeLast() }
        return name.isEmpty ? "computer" : name
    }

    /// The first 16 KB of a file; empty if it cannot be read.
    private static func file(_ path: String) -> String {
        String(decoding: (try? SystemCall.contents(of: path, limit: 16_384)) ?? [], as: UTF8.self)
    }
}

/// The name of this machine in multicast DNS, without `.local`.
///
/// Replaces `SCDynamicStoreCopyLocalHostName`.
public enum LocalHostName {
    /// The first label of the host name, with hyphens in place of characters that host names do not have.
    ///
    /// Each access reads it again. An engine that finds the name taken publishes another one.
    public static var current: String { HostLabel.fitting(HostLabel.ofThisMachine) }
}

/// The name of this machine as one DNS label.
enum HostLabel {
    /// The host name, which includes a domain on some machines.
    static var ofThisMachine: String { HostName.ofThisMachine ?? "" }

    /// The first label of `text`, with hyphens in place of characters that host names do not have; `host` if nothing
    /// remains.
    static func fitting(_ text: String) -> String {
        let label = text.prefix { $0 != "." }.utf8.prefix(ServiceInstance.maximumNameLength).map { byte in
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            return isLetter || (0x30...0x39).contains(byte) ? byte : UInt8(ascii: "-")
        }
        let trimmed = label.drop { $0 == UInt8(ascii: "-") }
        return trimmed.isEmpty ? "host" : String(decoding: trimmed, as: UTF8.self)
    }
}

/// The name that follows one that is taken.
enum NameSuccession {
    /// Returns `Printer (2)` after `Printer`, and `Printer (3)` after that (RFC 6763 appendix D). The part before the
    /// number is shortened at a character boundary so that the name has at most 63 bytes.
    static func afterService(_ name: String) -> String {
        var base = Substring(name)
        var number = 2
        if name.hasSuffix(")"), let open = name.lastIndex(of: "("), name.distance(from: name.startIndex, to: open) > 1,
            name[name.index(before: open)] == " ",
            let old = positive(name[name.index(after: open)...].dropLast())
        {
            base = name[..<name.index(before: open)]
            number = old + 1
        }
        let suffix = " (\(number))"
        return shortened(base, to: ServiceInstance.maximumNameLength - suffix.utf8.count) + suffix
    }

    /// Returns `host-2` after `host`, and `host-3` after that, because host names have no spaces.
    static func afterHost(_ name: String) -> String {
        var base = Substring(name)
        var number = 2
        if let hyphen = name.lastIndex(of: "-"), hyphen > name.startIndex,
            let old = positive(name[name.index(after: hyphen)...])
        {
            base = name[..<hyphen]
            number = old + 1
        }
        let suffix = "-\(number)"
        return shortened(base, to: ServiceInstance.maximumNameLength - suffix.utf8.count) + suffix
    }

    private static func positive(_ text: Substring) -> Int? {
        guard text.utf8.count <= 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.first != "0",
            let number = Int(text), number >= 2
        else { return nil }
        return number
    }

    private static func shortened(_ text: Substring, to count: Int) -> String {
        var text = text
        while text.utf8.count > count { text.removeLast() }
        return String(text)
    }
}
