/// How long each kind of probe may take.
struct LadderLimits: Sendable, Hashable {
    var lookup = Duration.seconds(5)
    var nameServer = Duration.seconds(2)
    var connection = Duration.seconds(5)
    var answer = Duration.seconds(10)
    /// For pings, and for looking at the way.
    var path = Duration.milliseconds(1500)
    /// After which time something that has not answered is looked into, though it may still answer.
    var patience = Duration.seconds(1)

    /// For all of it: no longer than the longest of its parts.
    var total: Duration { max(lookup, nameServer, connection, answer, path) }

    /// The limit of one probe; nil for one that only asks the kernel.
    func limit(of probe: Probe) -> Duration? {
        switch probe {
        case .surroundings, .route, .neighbors: nil
        case .lookup: lookup
        case .nameServer, .invention: nameServer
        case .connect: connection
        case .ping, .path, .packetSizes: path
        case .talk, .alternative: connection + answer
        case .inspection, .plainPage: min(connection, answer)
        }
    }
}
