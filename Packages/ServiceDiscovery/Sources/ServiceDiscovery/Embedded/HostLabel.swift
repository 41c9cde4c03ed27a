internal import Glibc

/// What this machine is called, as one label.
enum HostLabel {
    /// The host's name, with its domain if somebody has set it so.
    static var ofThisMachine: String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let failed = buffer.withUnsafeMutableBytes {
            $0.withMemoryRebound(to: CChar.self) { gethostname($0.baseAddress!, $0.count - 1) != 0 }
        }
        return failed ? "" : String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// The first label of `text`, with hyphens for what a host's name does not have; `host` if nothing is left.
    static func fitting(_ text: String) -> String {
        let label = text.prefix { $0 != "." }.utf8.prefix(ServiceInstance.longestName).map { byte in
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            return isLetter || (0x30...0x39).contains(byte) ? byte : UInt8(ascii: "-")
        }
        let trimmed = label.drop { $0 == UInt8(ascii: "-") }
        return trimmed.isEmpty ? "host" : String(decoding: trimmed, as: UTF8.self)
    }
}
