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
    /// Counts publishing, resolving and monitoring as they begin, to tell each from the next.
    var lastNumber = 0
    /// Of ``activity``.
    var activityNumber = 0
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
    var monitoring: MonitoringState?
    /// Itself, while it resolves.
    var anchor: NetService?

    /// What is under way.
    enum Activity {
        case none
        case publishing
        case resolving
    }

    /// True while what began under this number is under way.
    func isUnderWay(_ number: Int) -> Bool {
        activity != .none && activityNumber == number
    }

    /// What was under way, to be ended without the lock.
    struct Work: Sendable {
        let publisher: ServicePublisher?
        let names: RunningFeed<ServiceInstance>?
        let places: RunningFeed<ResolvedService>?
        let timer: LoopTimer?
        let listener: (any NetServiceListener)?
        let accepted: [@Sendable () -> (InputStream, OutputStream)]
        let anchor: NetService?

        func end() {
            timer?.cancel()
            names?.stop()
            places?.stop()
            publisher?.stop()
            listener?.close()
        }
    }

    /// Nothing is under way from now on.
    mutating func takeWork() -> Work {
        (activity, isVisible) = (.none, false)
        defer { accepted = [] }
        return Work(
            publisher: publisher.take(), names: names.take(), places: places.take(), timer: timer.take(),
            listener: listener.take(), accepted: accepted, anchor: anchor.take())
    }
}
