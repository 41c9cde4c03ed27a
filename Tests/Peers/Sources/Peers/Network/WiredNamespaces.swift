internal import Glibc

/// Two connected hosts: two network namespaces, each with an interface `eth0`.
///
/// ```swift
/// let network = try WiredNamespaces()
/// defer { network.remove() }
/// let avahi = Avahi(hostName: "left-host", in: network.left)
/// ```
///
/// Their addresses are 10.77.5.1 and 10.77.5.2, and IPv6 link-local addresses. They require root: the kernel does not permit
/// connecting network namespaces of two user namespaces.
public final class WiredNamespaces: Sendable {
    /// The host 10.77.5.1.
    public let left: NetworkNamespace
    /// The host 10.77.5.2.
    public let right: NetworkNamespace
    /// The namespace between the hosts and the wire with faults in it, if there are faults.
    private let middle: (namespace: NetworkNamespace, wire: UnreliableWire)?

    /// Creates both hosts and the connection.
    ///
    /// - Parameter faults: The faults of the wire; nil for none.
    /// - Throws: ``PeerError/Code/refused`` without root privileges, or with the kernel's message.
    public init(faults: WireFaults? = nil) throws(PeerError) {
        guard geteuid() == 0 else { throw PeerError(.refused, "two connected hosts (WiredNamespaces) require root") }
        left = try NetworkNamespace()
        right = try NetworkNamespace()
        let quick = "sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0"
        if let faults {
            let mute = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
            let namespace = try NetworkNamespace(setup: [mute])
            for (host, end) in [(left, "one"), (right, "other")] {
                try Self.run("\(quick); ip link add eth0 type veth peer name \(end) netns \(namespace.pid)", in: host)
                try Self.run("ip link set \(end) up", in: namespace)
            }
            let wire = UnreliableWire("one", "other", faults, in: namespace)
            try wire.start()
            middle = (namespace, wire)
        } else {
            try Self.run("\(quick); ip link add eth0 type veth peer name eth0 netns \(right.pid)", in: left)
            middle = nil
        }
        for (namespace, number) in [(left, 1), (right, 2)] {
            try Self.run(
                "\(quick) net.ipv6.conf.eth0.accept_dad=0; ip address add 10.77.5.\(number)/24 dev eth0; "
                    + "ip link set eth0 up", in: namespace)
        }
    }

    /// The faults so far, one line each, with the size in bytes: `lost 90`, `doubled 120`, `late 90`.
    public var faults: String { middle?.wire.log ?? "" }

    /// Sets the link of one host up or down.
    public func setLink(of namespace: NetworkNamespace, up: Bool) throws(PeerError) {
        try Self.run("ip link set eth0 \(up ? "up" : "down")", in: namespace)
    }

    /// Adds an address to a host.
    public func addAddress(_ address: String, to namespace: NetworkNamespace) throws(PeerError) {
        try Self.run("ip address add \(address) dev eth0", in: namespace)
    }

    /// Removes both hosts. Stop the peers inside them first.
    public func remove() {
        middle?.wire.stop()
        middle?.namespace.remove()
        left.remove()
        right.remove()
    }

    private static func run(_ script: String, in namespace: NetworkNamespace) throws(PeerError) {
        _ = try Command(Program("sh", package: "dash"), ["-ec", script], in: namespace).check()
    }
}
