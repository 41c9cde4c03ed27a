/// `tshark`: an observer of the packets of an interface, in a network namespace.
///
/// ```swift
/// let observer = Tshark("udp port 5353", fields: ["ip.src", "dns.qry.name"], in: network.left)
/// try observer.start()
/// let isSeen = await observer.sees { packets in packets.contains { $0["dns.qry.name"] == "_http._tcp.local" } }
/// ```
///
/// It decodes packets on its own, so what it reports does not depend on our code. The times are those of the kernel.
public final class Tshark: Peer {
    /// `tshark`.
    public static let program = Program("tshark")
    /// The process of the observer.
    public let process: PeerProcess
    private let filter: String
    private let fields: [String]
    private let interface: String

    /// Creates an observer that is not started yet.
    ///
    /// - Parameters:
    ///   - filter: The packets to capture, in the language of libpcap.
    ///   - fields: The names of the fields to report, as in `tshark -G fields`; not `frame.number`.
    ///   - interface: The interface to observe; `any` for all.
    ///   - namespace: The network of the interface.
    public init(_ filter: String, fields: [String], interface: String = "eth0", in namespace: NetworkNamespace) {
        self.filter = filter
        self.fields = fields
        self.interface = interface
        process = PeerProcess(in: namespace)
    }

    /// Starts the observer and returns when it captures packets.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 0) { scratch, _ in
            // Each line of a packet begins with its number, which distinguishes it from messages of the program.
            let options = ["-i", interface, "-f", filter, "-l", "-n", "-T", "fields", "-e", "frame.number"]
            return PeerProcess.Launch(
                arguments: options + fields.flatMap { ["-e", $0] } + ["-E", "separator=|", "-E", "aggregator=;"],
                // Since version 4.4, the announcement is no message for the user.
                environment: [
                    "TMPDIR": scratch.path, "WIRESHARK_LOG_DOMAINS": "Main", "WIRESHARK_LOG_LEVEL": "info",
                ], sockets: [], announcement: "Capture started.")
        }
    }

    /// The packets so far, each with the values of its fields by name. Several values of a field are separated by semicolons.
    public var packets: [[String: String]] { Self.packets(in: log, fields) }

    /// Waits until the packets satisfy `condition`. Returns whether they do.
    public func sees(_ condition: @escaping @Sendable ([[String: String]]) -> Bool) async -> Bool {
        await logs { [fields] log in condition(Self.packets(in: log, fields)) }
    }

    private static func packets(in log: String, _ fields: [String]) -> [[String: String]] {
        // The last line may be incomplete.
        log.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { line in
            let values = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard values.count == fields.count + 1, Int(values[0]) != nil else { return nil }
            return Dictionary(zip(fields, values.dropFirst())) { $1 }
        }
    }
}
