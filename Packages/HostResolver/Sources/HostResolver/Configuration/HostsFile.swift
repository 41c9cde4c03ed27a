/// The names that a machine's owner wrote down: `/etc/hosts` (hosts(5)).
///
/// ```swift
/// let hosts = HostsFile(parsing: "192.0.2.7 www.example.org www  # the old one")
/// hosts.addresses(of: "WWW")                        // [192.0.2.7]
/// hosts.names(of: IPAddress("192.0.2.7")!)          // ["www.example.org", "www"]
/// ```
///
/// Reading never fails: lines without an address or with no valid name are skipped.
public struct HostsFile: Hashable, Sendable {
    /// Largest text that is read; the rest is ignored. Block lists have some megabytes.
    public static let largestText = 16 * 1024 * 1024

    private var addressesByName: [String: [IPAddress]] = [:]
    private var namesByAddress: [IPAddress: [String]] = [:]

    /// Reads the text of a hosts file.
    public init(parsing text: String) {
        self.init(bytes: Array(text.utf8))
    }

    init(bytes: [UInt8]) {
        for line in bytes.prefix(Self.largestText).split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || (0x09...0x0D).contains($0) }
            guard let first = words.first, let address = IPAddress(String(decoding: first, as: UTF8.self)) else {
                continue
            }
            for word in words.dropFirst() { add(String(decoding: word, as: UTF8.self), address) }
        }
    }

    /// The addresses of a name, in the file's order; none if it is not there.
    public func addresses(of name: String) -> [IPAddress] {
        addressesByName[Self.key(name)] ?? []
    }

    /// The names of an address, the main one first; none if it is not there.
    public func names(of address: IPAddress) -> [String] {
        namesByAddress[address] ?? []
    }

    private mutating func add(_ text: String, _ address: IPAddress) {
        guard let name = try? HostName(text), name.address == nil else { return }
        if addressesByName[name.ascii]?.contains(address) != true {
            addressesByName[name.ascii, default: []].append(address)
        }
        if namesByAddress[address]?.contains(name.ascii) != true {
            namesByAddress[address, default: []].append(name.ascii)
        }
    }

    private static func key(_ name: String) -> String {
        let folded = name.lowercased()
        return folded.hasSuffix(".") ? String(folded.dropLast()) : folded
    }
}
