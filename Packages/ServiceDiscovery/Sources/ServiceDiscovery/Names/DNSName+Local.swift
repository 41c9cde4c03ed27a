internal import HostResolver

extension DNSName {
    /// True for names that are asked for by multicast (RFC 6762 §3): `local`, and all that end in it.
    var isLocal: Bool {
        labels.last?.elementsEqual("local".utf8) { $0 | 0x20 == $1 } ?? false
    }
}
