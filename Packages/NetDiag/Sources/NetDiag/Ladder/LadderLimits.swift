/// The time limits of the probes.
struct LadderLimits: Sendable, Hashable {
    var lookup = Duration.seconds(5)
    var nameServer = Duration.seconds(2)
    var connection = Duration.seconds(5)
    var answer = Duration.seconds(10)
    /// For pings and for tracing the path.
    var path = Duration.milliseconds(1500)
    /// The time after which a missing answer is investigated while it may still arrive.
    var patience = Duration.seconds(1)

    /// The limit of the whole diagnosis: the longest single limit.
    var total: Duration { max(lookup, nameServer, connection, answer, path) }

    /// The limit of one probe; nil for a probe that only reads the kernel's tables.
    func limit(of probe: Probe) -> Duration? {
        switch probe {
        case .environment, .route, .neighbors: nil
        case .lookup: lookup
        case .nameServer, .nonexistentName: nameServer
        case .connect: connection
        case .ping, .path, .packetSizes: path
        case .exchange, .alternative: connection + answer
        case .inspection, .plainPage: min(connection, answer)
        }
    }
}
