internal import Glibc

/// What this computer is called: the name of a service that is published without one.
///
/// ```swift
/// ComputerName.current                 // "Anna's desk"
/// ```
///
/// Replaces `SCDynamicStoreCopyComputerName`.
public enum ComputerName {
    /// The pretty host name that `hostnamectl` sets (machine-info(5)), else the host's name without its domain. At most 63 bytes of
    /// UTF-8, as a service's name: what is longer is cut at a character's edge.
    ///
    /// It is read anew each time; what is published does not follow a change.
    public static var current: String {
        fitting(pretty(file("/etc/machine-info")) ?? String(HostLabel.ofThisMachine.prefix { $0 != "." }))
    }

    /// The value of `PRETTY_HOSTNAME` in the text of `/etc/machine-info`, which is written as a shell's variables are; nil if there
    /// is none, or nothing that a name could be.
    static func pretty(_ text: String) -> String? {
        let key = "PRETTY_HOSTNAME="
        guard let line = text.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix(key) }) else { return nil }
        var name = ""
        var quote: Character?
        var isEscaped = false
        for character in line.dropFirst(key.count) {
            if isEscaped {
                (isEscaped, name) = (false, name + String(character))
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else {
                name.append(character)
            }
        }
        let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
        return name.allSatisfy(\.isWhitespace) || hasControls ? nil : name
    }

    static func fitting(_ name: String) -> String {
        var name = name
        while name.utf8.count > ServiceInstance.longestName { name.removeLast() }
        return name.isEmpty ? "computer" : name
    }

    /// The beginning of a small file; nothing if it cannot be read.
    private static func file(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
        }
    }
}
