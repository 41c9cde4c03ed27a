internal import EventLoops
internal import HostResolver

/// One question to the daemon, for all who ask it.
struct DaemonQuery {
    /// What is asked, and where.
    struct Subject: Hashable {
        let key: RecordKey
        let interface: UInt32
    }

    var records: DaemonRecords
    /// Nil while the daemon is being asked to begin.
    var watch: DaemonWatch?
    /// The operations that ask it.
    var operations: Set<Int> = []
}
