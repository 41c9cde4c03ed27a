/// The names and addresses of a hosts file, such as `/etc/hosts` (hosts(5)).
///
/// ```swift
/// let hosts = HostsFile(parsing: "192.0.2.7 www.example.org www  # the old one")
/// hosts.addresses(of: "WWW")                        // [192.0.2.7]
/// hosts.names(of: IPAddress("192.0.2.7")!)          // ["www.example.org", "www"]
/// ```
///
/// Parsing never fails: lines that do not begin with an address are skipped, and so are invalid names. Of one name, as many addresses count
/// as a lookup returns at most.
public struct HostsFile: Hashable, Sendable {
    /// The maximum number of bytes of a file that are parsed; the rest is ignored. Files used as block lists can be
    /// several megabytes long.
    static let maximumTextSize = 16 * 1024 * 1024

    private var addressesByName: [String: [IPAddress]] = [:]
    private var namesByAddress: [IPAddress: [String]] = [:]

    /// Parses the text of a hosts file.
    public init(parsing text: String) {
        self.init(bytes: Array(text.utf8))
    }

    init(bytes: [UInt8]) {
        for line in bytes.prefix(Self.maximumTextSize).split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.words
            guard let first = words.first, let address = IPAddress(first) else { continue }
            for word in words.dropFirst() { add(word, address) }
        }
    }

    /// Returns the addresses of a name, in the order of the file; empty if the file does not contain the name.
    public func addresses(of name: String) -> [IPAddress] {
        addressesByName[Self.key(name)] ?? []
    }

    /// Returns the names of an address, the canonical name first; empty if the file does not contain the address.
    public func names(of address: IPAddress) -> [String] {
        namesByAddress[address] ?? []
    }

    private mutating func add(_ text: String, _ address: IPAddress) {
        guard let name = try? HostName(text), name.address == nil else { return }
        // A block list has hundreds of thousands of names of one address, so those are not searched.
        let known = addressesByName[name.ascii] ?? []
        guard known.count < 2 * UniqueAddresses.maximumPerFamily, !known.contains(address) else { return }
        addressesByName[name.ascii, default: []].append(address)
        namesByAddress[address, default: []].append(name.ascii)
    }

    private static func key(_ name: String) -> String {
        let folded = name.lowercased()
        return folded.hasSuffix(".") ? String(folded.dropLast()) : folded
    }
}

extension Collection<UInt8> {
    /// The words between spaces, as the C library separates them in configuration files: by the spaces of ASCII only.
    var words: [String] {
        split { $0 == 0x20 || (0x09...0x0D).contains($0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
