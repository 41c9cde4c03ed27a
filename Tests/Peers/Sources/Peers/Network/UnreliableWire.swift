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
