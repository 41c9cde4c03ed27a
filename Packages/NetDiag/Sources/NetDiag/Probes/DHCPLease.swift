internal import Glibc

/// A lease in a file of the DHCP client dhclient(8).
///
/// The kernel removes an address when its lease expires, and keeps no record of it. dhclient writes its leases to a file that
/// every user can read; NetworkManager and systemd-networkd do not.
struct DHCPLease: Sendable, Hashable {
    /// The folder of dhclient's lease files.
    static let folder = "/var/lib/dhcp"
    /// The maximum number of bytes read from the end of a file, where the newest leases are.
    static let maximumBytes = 64 * 1024

    var interface: String
    var address: IPAddress
    /// The expiry time, in seconds since 1970.
    var expiry: Int64

    /// The newest lease of each interface in a file of dhclient.leases(5). Leases that never expire are left out.
    static func parse(_ text: String) -> [DHCPLease] {
        var newest: [String: DHCPLease] = [:]
        for block in text.split(separator: "lease {", omittingEmptySubsequences: false).dropFirst() {
            var interface: String?
            var address: IPAddress?
            var expiry: Int64?
            for statement in block.utf8.prefix(while: { $0 != UInt8(ascii: "}") }).split(separator: UInt8(ascii: ";")) {
                let words = statement.split { $0 == 0x20 || (0x09...0x0D).contains($0) }.map { Substring($0) }
                switch words.first {
                case "interface": interface = words.last.map { $0.filter { $0 != "\"" } }
                case "fixed-address": address = words.last.flatMap { IPAddress(String($0)) }
                case "expire": expiry = seconds(words.dropFirst())
                default: break
                }
            }
            guard let interface else { continue }
            newest[interface] = nil
            guard let address, let expiry else { continue }
            newest[interface] = DHCPLease(interface: interface, address: address, expiry: expiry)
        }
        return newest.values.sorted { $0.interface < $1.interface }
    }

    /// Parses `4 2026/11/19 18:30:00`, in UTC, or `epoch 1795113000`; returns nil for `never`.
    private static func seconds(_ words: ArraySlice<Substring>) -> Int64? {
        if words.first == "epoch" { return words.dropFirst().first.flatMap { Int64($0) } }
        let numbers = words.dropFirst().flatMap { $0.split { $0 == "/" || $0 == ":" } }.compactMap { Int32($0) }
        guard numbers.count == 6, (1970...9999).contains(numbers[0]), (1...12).contains(numbers[1]) else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&parts))
    }

    /// The expired leases of this machine.
    static func expired(in folder: String = folder, now: Int64 = Int64(time(nil))) -> [DHCPLease] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var texts: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix("dhclient"), name.hasSuffix(".leases") { texts.append(tail(of: "\(folder)/\(name)")) }
        }
        return texts.flatMap { parse($0) }.filter { $0.expiry < now }
    }

    private static func tail(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        let count = pread(descriptor, &bytes, bytes.count, max(0, size - bytes.count))
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
