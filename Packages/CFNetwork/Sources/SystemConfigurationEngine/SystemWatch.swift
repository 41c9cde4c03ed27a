internal import Dispatch
@_spi(Packages) internal import EventLoops
internal import HostResolver
internal import StreamKit

/// What may have changed.
struct SystemChange: OptionSet, Sendable {
    let rawValue: UInt8

    /// Links, addresses or routes.
    static let network = SystemChange(rawValue: 1)
    /// Files: proxy settings, name servers, or the computer's name.
    static let files = SystemChange(rawValue: 2)
}

/// Watches the network and the files that all values derive from. The objects of a process share one, which ends with the last of them.
final class SystemWatch: Sendable {
    /// The time without changes after which the network's changes are reported. One change of a link is several for the kernel.
    static let quietTime: Duration = .milliseconds(10)
    /// The time after its first message at which a change is reported in any case. A busy machine spreads the messages of one change.
    static let maximumDelay: Duration = .milliseconds(40)

    private struct Shared {
        weak var watch: SystemWatch?
    }
    private static let shared = Locked(Shared())

    private let changes: Broadcast<SystemChange>
    private let network: Subscription
    private let files: FilesWatch

    /// The watch of this process, which lasts as long as its subscriptions.
    ///
    /// - Throws: the status of a failure, if the process has no descriptor left.
    private static func current() throws(Status) -> SystemWatch {
        if let watch = shared.withLock({ $0.watch }) { return watch }
        // Two threads may each make one at the same time. Both work.
        let watch = try SystemWatch()
        shared.withLock { $0.watch = watch }
        return watch
    }

    /// Calls `body` on a queue after a second: what could not be examined for lack of descriptors is examined again.
    static func repeatLater(on queue: QueueTarget, _ body: @escaping @Sendable () -> Void) {
        EventLoop.shared.schedule(at: .now + .seconds(1)) { queue.queue.async(execute: body) }
    }

    private init() throws(Status) {
        let changes = Broadcast<SystemChange> { Mailbox(merging: { $0.formUnion($1) }) }
        self.changes = changes
        do {
            let monitor = try NetworkMonitor(quietTime: SystemWatch.quietTime, maximumDelay: SystemWatch.maximumDelay)
            network = monitor.observe(on: .direct) { _ in changes.send(.network) }
        } catch {
            throw .failed
        }
        files = FilesWatch(
            ProxySettings.systemFiles() + ["/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/machine-info"]
        ) { changes.send(.files) }
    }

    /// Calls `handler` after each change from now on, until the subscription is cancelled or released.
    ///
    /// - Parameter queue: where it is called. It may ask the kernel and read files, which an event loop must not wait for, nor an observer that
    ///   reads none.
    /// - Throws: the status of a failure, if the process has no descriptor left.
    static func observe(
        on queue: QueueTarget, _ handler: @escaping @Sendable (SystemChange) -> Void
    ) throws(Status) -> Subscription {
        let watch = try current()
        let mailbox = watch.changes.subscribe()
        let calls = mailbox.observe(on: queue) {
            if let change = mailbox.tryNext() { handler(change) }
        }
        return Subscription {
            // The watch lasts as long as the subscription.
            withExtendedLifetime(watch) { calls.cancel() }
        }
    }
}
