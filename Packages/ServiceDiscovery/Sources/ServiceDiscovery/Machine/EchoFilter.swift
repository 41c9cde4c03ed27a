internal import HostResolver

/// Knows our own packets when the kernel hands them back, as it must for other programs on this machine to see them.
///
/// Each packet sent excuses one arrival of the same bytes from an own address on each family, within two seconds. A second
/// program that sends the same bytes is heard.
struct EchoFilter {
    /// Most packets remembered.
    static let limit = 512
    static let memory: Duration = .seconds(2)

    private struct Sent {
        let bytes: [UInt8]
        var v4: Bool
        var v6: Bool
        let until: DiscoveryTime
    }

    private var sent: [Sent] = []

    mutating func noteSent(_ bytes: [UInt8], now: DiscoveryTime) {
        sent.removeAll { $0.until <= now || !($0.v4 || $0.v6) }
        if sent.count == Self.limit { sent.removeFirst() }
        sent.append(Sent(bytes: bytes, v4: true, v6: true, until: now + Self.memory))
    }

    /// True, once for each family, for what was sent.
    mutating func isEcho(_ bytes: [UInt8], from address: IPAddress, now: DiscoveryTime) -> Bool {
        let isV4 = address.family == .v4
        guard
            let place = sent.firstIndex(where: {
                (isV4 ? $0.v4 : $0.v6) && $0.until > now && $0.bytes == bytes
            })
        else { return false }
        if isV4 { sent[place].v4 = false } else { sent[place].v6 = false }
        return true
    }
}
