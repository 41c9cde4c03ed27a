/// NSD: an authoritative DNS server for given zones, on one address of a namespace. It answers with referrals for the zones below.
///
/// ```swift
/// let root = DNSZone("", [.ns("", "a.root"), .a("a.root", "127.0.1.1"), .ns("test", "ns.test"), .a("ns.test", "127.0.1.2")])
/// let server = NSD([root], on: "127.0.1.1", in: namespace)
/// try server.start()
/// ```
public final class NSD: Peer {
    /// `nsd`.
    public static let program = Program("nsd")
    /// The process of the server.
    public let process: PeerProcess
    /// The served zones.
    public let zones: [DNSZone]
    /// The address on which the server listens, at port 53.
    public let address: String

    /// Creates a server that is not started yet.
    public init(_ zones: [DNSZone], on address: String, in namespace: NetworkNamespace) {
        self.zones = zones
        self.address = address
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it answers.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1, fixed: [53]) { scratch, _ throws(PeerError) in
            var lines = [
                "server:", "ip-address: \(address)@53", "server-count: 1", "username: \"\"", "chroot: \"\"",
                "zonesdir: \"\(scratch.path)\"", "database: \"\"", "pidfile: \"\"", "logfile: \"\"",
                "xfrdfile: \"\(scratch.file("xfrd"))\"", "xfrdir: \"\(scratch.path)\"",
                "zonelistfile: \"\(scratch.file("zones"))\"", "ipv4-edns-size: 1232", "remote-control:",
                "control-enable: no",
            ]
            for (number, zone) in zones.enumerated() {
                try scratch.write("\(number).zone", zone.text)
                lines += ["zone:", "name: \"\(zone.name).\"", "zonefile: \"\(number).zone\""]
            }
            let file = try scratch.write("nsd.conf", lines.joined(separator: "\n") + "\n")
            return PeerProcess.Launch(
                arguments: ["-d", "-c", file], sockets: ListeningSocket.dns(53), announcement: "nsd started",
                ownerIsDescendant: true)
        }
    }
}

/// A zone of a DNS server, signed if requested (RFC 4034).
public struct DNSZone: Sendable {
    /// The full name, without a trailing dot; empty for the root.
    public let name: String
    /// The zone file.
    public let text: String
    /// For the zone above: the DS records of a signed zone; empty for others.
    public let delegation: [DNSRecord]

    /// The data of ``delegation`` as in a zone file; nil if the zone is not signed.
    public var delegationText: String? {
        if case .other(_, let data)? = delegation.first?.value { data } else { nil }
    }

    /// Creates a zone that is not signed. Its SOA record is added.
    public init(_ name: String, _ records: [DNSRecord]) {
        let start = "\(name). 300 IN SOA ns.invalid. mail.invalid. 1 3600 600 86400 60"
        self.init(name, text: ([start] + records.map(\.zoneLine)).joined(separator: "\n") + "\n", delegation: [])
    }

    private init(_ name: String, text: String, delegation: [DNSRecord]) {
        self.name = name
        self.text = text
        self.delegation = delegation
    }

    /// The same zone with a new key (ECDSA P-256), signed by it.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, or ``PeerError/Code/exited`` with the output of the programs.
    public func signed() throws(PeerError) -> DNSZone {
        let scratch = try ScratchFolder("zone")
        try scratch.write("zone", text)
        _ = try Program("ldns-signzone", package: "ldnsutils").located()
        _ = try Command("sh", "-c", Self.script, scratch.path, "\(name).").check()
        // OWNER TTL IN DS TAG ALGORITHM DIGEST-TYPE DIGEST
        let words = try readText(scratch.file("ds")).split { $0.isWhitespace }.map(String.init)
        let data = words.drop { $0 != "DS" }.dropFirst().joined(separator: " ")
        return DNSZone(
            name, text: try readText(scratch.file("signed")), delegation: [DNSRecord(name, .other("DS", data))])
    }

    /// `$0` is the folder, `$1` the name of the zone.
    private static let script = """
        set -e
        cd "$0"
        key=$(ldns-keygen -a ECDSAP256SHA256 -k "$1")
        ldns-signzone -o "$1" -f signed zone "$key"
        ldns-key2ds -n -2 "$key.key" > ds
        """
}
