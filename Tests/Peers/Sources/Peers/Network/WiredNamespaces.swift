internal import Glibc

/// Two hosts with a wire between them: two network namespaces, each with an `eth0` of its own.
///
/// ```swift
/// let network = try WiredNamespaces()
/// defer { network.remove() }
/// let avahi = Avahi(hostName: "left-host", in: network.left)
/// ```
///
/// Their addresses are 10.77.5.1 and 10.77.5.2, and link-local ones of IPv6. Needs root: a wire between namespaces of two
/// user namespaces is not permitted.
public final class WiredNamespaces: Sendable {
    /// 10.77.5.1.
    public let left: NetworkNamespace
    /// 10.77.5.2.
    public let right: NetworkNamespace
    /// Where packets are lost, if they are: a place between the hosts, and who passes on the others.
    private let middle: (namespace: NetworkNamespace, wire: UnreliableWire)?

    /// Makes both hosts and the wire.
    ///
    /// - Parameter faults: what the wire does to packets; nil for nothing.
    /// - Throws: ``PeerError/Code/refused`` with the kernel's words.
    public init(faults: WireFaults? = nil) throws(PeerError) {
        guard geteuid() == 0 else { throw PeerError(.refused, "two hosts with a wire can only be made by root") }
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

    /// What an unreliable wire has done, a line for each fault: `lost 90`, `doubled 120`, `late 90`, with the bytes.
    public var faults: String { middle?.wire.log ?? "" }

    /// Takes the wire away, as far as one host can see: its link goes down.
    public func setLink(of namespace: NetworkNamespace, up: Bool) throws(PeerError) {
        try Self.run("ip link set eth0 \(up ? "up" : "down")", in: namespace)
    }

    /// Gives a host another address beside its own.
    public func addAddress(_ address: String, to namespace: NetworkNamespace) throws(PeerError) {
        try Self.run("ip address add \(address) dev eth0", in: namespace)
    }

    /// Ends both hosts. Peers inside them must be stopped before.
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
