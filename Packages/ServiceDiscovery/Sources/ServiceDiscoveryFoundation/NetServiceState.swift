internal import EventLoops
internal import Foundation
internal import ServiceDiscovery

/// The mutable state of a ``NetService``, behind its lock.
struct NetServiceState {
    weak var delegate: (any NetServiceDelegate)?
    var name: String
    var domain: String
    var port: Int
    var hostName: String?
    var addresses: [Data]?
    var record: TXTRecord?
    var includesPeerToPeer = false
    var activity = Activity.none
    /// Numbers the activities and monitorings of the object.
    var lastNumber = 0
    /// The number of ``activity``.
    var activityNumber = 0
    /// The events to deliver.
    var outbox: [NetServiceEvent] = []
    var publisher: ServicePublisher?
    var names: NotifyingFeed<ServiceInstance>?
    var isVisible = false
    var listener: (any NetServiceListener)?
    /// Connections that wait for the run loop.
    var accepted: [@Sendable () -> (InputStream, OutputStream)] = []
    var locations: NotifyingFeed<ResolvedService>?
    var timer: LoopTimer?
    var hasResolved = false
    var monitoring: MonitoringState?
    /// The object itself, which is retained while it resolves.
    var retainedSelf: NetService?

    /// The running activity.
    enum Activity {
        case none
        case publishing
        case resolving
    }

    /// Whether the activity with this number is running.
    func isUnderWay(_ number: Int) -> Bool {
        activity != .none && activityNumber == number
    }

    /// The parts of an activity, which are ended without the lock.
    struct Work: Sendable {
        let publisher: ServicePublisher?
        let names: NotifyingFeed<ServiceInstance>?
        let locations: NotifyingFeed<ResolvedService>?
        let timer: LoopTimer?
        let listener: (any NetServiceListener)?
        let accepted: [@Sendable () -> (InputStream, OutputStream)]
        let retainedSelf: NetService?

        func end() {
            timer?.cancel()
            names?.stop()
            locations?.stop()
            publisher?.stop()
            listener?.close()
        }
    }

    /// Ends the activity in this state; the caller ends its parts.
    mutating func takeWork() -> Work {
        (activity, isVisible) = (.none, false)
        defer { accepted = [] }
        return Work(
            publisher: publisher.take(), names: names.take(), locations: locations.take(), timer: timer.take(),
            listener: listener.take(), accepted: accepted, retainedSelf: retainedSelf.take())
    }
}

/// An event for the delegate of a ``NetService``.
enum NetServiceEvent {
    case willPublish
    case didPublish
    case didNotPublish(ServiceDiscoveryError)
    case willResolve
    case didResolve
    case didNotResolve(ServiceDiscoveryError)
    case didStop
    case didUpdate(Data)
    case didNotMonitor(ServiceDiscoveryError)
    case didAccept(@Sendable () -> (InputStream, OutputStream))
}
