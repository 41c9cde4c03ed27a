/// The address of a message bus: a Unix socket (D-Bus specification, "Server addresses").
enum DBusAddress: Hashable {
    case path(String)
    /// A name in the abstract namespace, which is not a file.
    case abstract(String)

    /// Returns the Unix sockets in a list such as `unix:path=/run/user/1000/bus,guid=…;tcp:host=…`. Other transports
    /// are ignored.
    static func parse(_ list: String, runtimeFolder: String? = nil) -> [DBusAddress] {
        list.split(separator: ";").compactMap { address in
            let parts = address.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "unix" else { return nil }
            for pair in parts[1].split(separator: ",") {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let value = unescaped(parts[1]) else { return nil }
                switch parts[0] {
                case "path": return .path(value)
                case "abstract": return .abstract(value)
                case "runtime": return runtimeFolder.map { .path($0 + "/bus") }
                default: continue
                }
            }
            return nil
        }
    }

    /// Decodes percent escapes; returns nil if one is invalid or the result contains a NUL.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit),
                    let escaped = UInt8(digits, radix: 16)
                else { return nil }
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
