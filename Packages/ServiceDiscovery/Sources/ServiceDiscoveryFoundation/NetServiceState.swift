internal import EventLoops
internal import Foundation
internal import ServiceDiscovery

/// What changes of a ``NetService``, behind its lock.
struct NetServiceState {
    weak var delegate: (any NetServiceDelegate)?
    var name: String
    var port: Int
    var hostName: String?
    var addresses: [Data]?
    var record: TXTRecord?
    var includesPeerToPeer = false
    var activity = Activity.none
    /// What the delegate is to be told.
    var outbox: [NetServiceEvent] = []
    var publisher: ServicePublisher?
    var names: RunningFeed<ServiceInstance>?
    var isVisible = false
    var listener: (any NetServiceListener)?
    /// Connections that wait for the run loop.
    var accepted: [@Sendable () -> (InputStream, OutputStream)] = []
    var places: RunningFeed<ResolvedService>?
    var timer: LoopTimer?
    var hasResolved = false
    var records: RunningFeed<TXTRecord>?
    /// Itself, while it resolves.
    var anchor: NetService?

    /// What is under way.
    enum Activity {
        case none
        case publishing
        case resolving
    }
}
