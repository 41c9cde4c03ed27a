internal import Glibc

/// Two connected hosts: two network namespaces, each with an interface `eth0`.
///
/// ```swift
/// let network = try WiredNamespaces()
/// defer { network.remove() }
/// let avahi = Avahi(hostName: "left-host", in: network.left)
/// ```
///
/// Their addresses are 10.77.5.1 and 10.77.5.2, and IPv6 link-local addresses. With a second link, `eth1`, they also have 10.77.6.1
/// and 10.77.6.2. They require root: the kernel does not permit connecting network namespaces of two user namespaces.
public final class WiredNamespaces: Sendable {
    /// The host 10.77.5.1.
    public let left: NetworkNamespace
    /// The host 10.77.5.2.
    public let right: NetworkNamespace
    /// The namespace between the hosts and the wire with faults in it, if there are faults.
    private let middle: (namespace: NetworkNamespace, wire: UnreliableWire)?

    /// The namespace of the switch between the hosts, if there is one.
    private let exchange: NetworkNamespace?

    /// Creates both hosts and the connection.
    ///
    /// - Parameters:
    ///   - faults: The faults of the wire; nil for none.
    ///   - links: The number of links between the hosts, without faults: `eth0`, `eth1` …
    /// - Throws: ``PeerError/Code/refused`` without root privileges, or with the kernel's message.
    public convenience init(faults: WireFaults? = nil, links: Int = 1) throws(PeerError) {
        try self.init(faults, links, isSwitched: false)
    }

    /// Creates both hosts, whose links lead to a switch that does not connect them yet: see ``connect()``. So the link of one host
    /// may be down while that of the other is up.
    ///
    /// - Throws: As ``init(faults:links:)``.
    public static func apart() throws(PeerError) -> WiredNamespaces {
        try WiredNamespaces(nil, 1, isSwitched: true)
    }

    private init(_ faults: WireFaults?, _ links: Int, isSwitched: Bool) throws(PeerError) {
        guard geteuid() == 0 else { throw PeerError(.refused, "two connected hosts (WiredNamespaces) require root") }
        left = try NetworkNamespace()
        right = try NetworkNamespace()
        let quick = "sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0"
        exchange = isSwitched ? try NetworkNamespace(setup: ["ip link add switch type bridge mcast_snooping 0"]) : nil
        if let exchange {
            for (host, end) in [(left, "one"), (right, "other")] {
                try Self.run("\(quick); ip link add eth0 type veth peer name \(end) netns \(exchange.pid)", in: host)
                try Self.run("ip link set \(end) up", in: exchange)
            }
            try Self.run("ip link set switch up", in: exchange)
            middle = nil
        } else if let faults {
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
        for link in 1..<max(1, links) {
            try Self.run("ip link add eth\(link) type veth peer name eth\(link) netns \(right.pid)", in: left)
        }
        for (namespace, number) in [(left, 1), (right, 2)] {
            for link in 0..<max(1, links) {
                try Self.run(
                    "\(quick) net.ipv6.conf.eth\(link).accept_dad=0; "
                        + "ip address add 10.77.\(5 + link).\(number)/24 dev eth\(link); ip link set eth\(link) up",
                    in: namespace)
            }
        }
    }

    /// Makes the switch of ``apart()`` connect the hosts.
    public func connect() throws(PeerError) {
        guard let exchange else { throw PeerError(.refused, "these hosts are connected by a wire") }
        try Self.run("ip link set one master switch; ip link set other master switch", in: exchange)
    }

    /// The faults so far, one line each, with the size in bytes: `lost 90`, `doubled 120`, `late 90`.
    public var faults: String { middle?.wire.log ?? "" }

    /// Sets a link of one host up or down.
    public func setLink(_ name: String = "eth0", of namespace: NetworkNamespace, up: Bool) throws(PeerError) {
        try Self.run("ip link set \(name) \(up ? "up" : "down")", in: namespace)
    }

    /// Adds an address to a host.
    public func addAddress(_ address: String, to namespace: NetworkNamespace) throws(PeerError) {
        try Self.run("ip address add \(address) dev eth0", in: namespace)
    }

    /// Removes both hosts. Stop the peers inside them first.
    public func remove() {
        middle?.wire.stop()
        middle?.namespace.remove()
        exchange?.remove()
        left.remove()
        right.remove()
    }

    private static func run(_ script: String, in namespace: NetworkNamespace) throws(PeerError) {
        _ = try Command(Program("sh", package: "dash"), ["-ec", script], in: namespace).check()
    }
}

/// The faults of a wire. Each packet has at most one of them.
public struct WireFaults: Hashable, Sendable {
    /// The percentage of packets that are lost.
    public var lost: Int
    /// The percentage of packets that arrive twice.
    public var doubled: Int
    /// The percentage of packets that arrive late, after packets that were sent later.
    public var late: Int
    /// The maximum delay, in milliseconds.
    public var delay: Int

    /// Creates faults.
    public init(lost: Int, doubled: Int, late: Int, delay: Int) {
        (self.lost, self.doubled, self.late, self.delay) = (lost, doubled, late, delay)
    }
}

/// Forwards packets between two interfaces, and drops, duplicates and delays some of them.
///
/// It runs in user space because not every kernel has `netem`. ``WiredNamespaces`` uses it if it has faults.
final class UnreliableWire: Peer {
    static let program = Program("python3", in: "/usr/bin")
    let process: PeerProcess
    private let ends: (String, String)
    private let faults: WireFaults

    /// Creates a wire between two interfaces of a namespace.
    init(_ one: String, _ other: String, _ faults: WireFaults, in namespace: NetworkNamespace) {
        ends = (one, other)
        self.faults = faults
        process = PeerProcess(in: namespace)
    }

    /// Starts the wire and returns when it forwards packets.
    func start() throws(PeerError) {
        let numbers = [faults.lost, faults.doubled, faults.late, faults.delay].map(String.init)
        try process.start(Self.program, ports: 0) { _, _ in
            PeerProcess.Launch(
                arguments: ["-u", "-c", Self.script, ends.0, ends.1] + numbers, sockets: [], announcement: "ready")
        }
    }

    /// PACKET_VNET_HDR transfers the kernel's pending work on each packet, such as a checksum that is not computed yet.
    private static let script = """
        import heapq, random, select, socket, sys, time
        names, (lost, doubled, late, delay) = sys.argv[1:3], map(int, sys.argv[3:])
        SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL, PACKET_OUTGOING = 263, 15, 3, 4
        ends = []
        for name in names:
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            end.bind((name, ETH_P_ALL))
            ends.append(end)
        dice, kept, number = random.Random(1), [], 0
        def pass_on(to, packet):
            try: to.send(packet)
            except OSError as error: print("not sent:", error)
        print("ready")
        while True:
            wait = max(0, kept[0][0] - time.monotonic()) if kept else None
            for end in select.select(ends, [], [], wait)[0]:
                packet, address = end.recvfrom(70000)
                if address[2] == PACKET_OUTGOING: continue
                other, roll, number = ends[1 - ends.index(end)], dice.randrange(100), number + 1
                if roll < lost: print("lost", len(packet)); continue
                if roll < lost + late:
                    print("late", len(packet))
                    heapq.heappush(kept, (time.monotonic() + dice.uniform(0, delay) / 1000, number, other, packet))
                    continue
                pass_on(other, packet)
                if roll < lost + late + doubled: print("doubled", len(packet)); pass_on(other, packet)
            while kept and kept[0][0] <= time.monotonic(): pass_on(*heapq.heappop(kept)[2:])
        """
}
