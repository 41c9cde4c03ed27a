@_spi(Packages) public import EventLoops

/// A monitor of this machine's network, which reports changes of interfaces, addresses and routes.
///
/// ```swift
/// let monitor = try NetworkMonitor()
/// for await flags in monitor.reachability(of: [IPAddress("192.0.2.1")!]) {
///     print(flags)                    // the current value, and each new one
/// }
/// ```
///
/// Changes in quick succession are reported as one, at most ten quiet times after the first. The monitor works until ``stop()`` or until it is released. Its
/// sequences end then, or when the kernel's socket fails. It costs one descriptor and, between changes, no processor
/// time.
public final class NetworkMonitor: Sendable {
    /// The time without changes after which a report is made: 50 ms.
    public static let defaultQuietTime: Duration = .milliseconds(50)

    private let point: WaitPoint
    /// The changes. Each subscriber's are combined into one until it takes them.
    let broadcast = Broadcast<NetworkChange> { Mailbox(merging: { $0.formUnion($1) }) }

    /// Creates a monitor and starts it.
    ///
    /// - Parameters:
    ///   - quietTime: the time without changes after which a report is made.
    ///   - maximumDelay: the time after the first change at which a report is made in any case; ten quiet times by default.
    /// - Throws: ``ResolverError/Code-swift.struct/system`` if the kernel provides no netlink socket.
    public init(
        quietTime: Duration = defaultQuietTime, maximumDelay: Duration? = nil
    ) throws(ResolverError) {
        let point = WaitPoint(descriptor: try RouteSocket.open(groups: RouteNetlink.changeGroups), ownership: .owned)
        self.point = point
        // The task refers to the descriptor and the broadcast, but not to the monitor: releasing the monitor ends the
        // task.
        Task(executorPreference: EventLoop.shared) { [broadcast] in
            if point.enter(.reader) == .entered {
                let debounce = ChangeDebounceMachine(quietTime: quietTime, maximumDelay: maximumDelay ?? quietTime * 10)
                let watch = NetworkWatch(debounce: debounce) {
                    point.isClosed(.reader) ? .end : RouteSocket.reading(point.descriptor)
                } wait: { deadline in
                    await point.readerWait(for: .readable, until: deadline.map(Moment.init))
                }
                await watch.run { broadcast.send($0) }
                point.leave(.reader)
            }
            broadcast.finish()
        }
    }

    deinit { stop() }

    /// Stops the monitor and ends all sequences. Idempotent.
    public func stop() {
        point.close()
        broadcast.finish()
    }

    /// Returns the changes from now on. A slow reader gets several changes combined into one.
    public func changes() -> NetworkChanges {
        NetworkChanges(broadcast, of: self)
    }

    /// Returns the reachability of a host with the given addresses: the current value, and each new one.
    ///
    /// If the kernel cannot be queried, the host is reported as unreachable.
    public func reachability(of addresses: [IPAddress]) -> ReachabilityChanges {
        ReachabilityChanges(changes: changes(), addresses: addresses)
    }

    /// Calls `handler` on `target` at each change, until the subscription is cancelled or released.
    public func observe(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (NetworkChange) -> Void
    ) -> Subscription {
        let mailbox = broadcast.subscribe()
        let calls = mailbox.observe(on: target) {
            if let change = mailbox.tryNext() { handler(change) }
        }
        return Subscription { [self] in
            // The monitor lasts as long as the subscription.
            withExtendedLifetime(self) { calls.cancel() }
        }
    }
}

/// The changes of this machine's network, from ``NetworkMonitor/changes()``.
///
/// The elements are the parts of the network that have changed. The sequence keeps its monitor alive, and ends when that is closed or the
/// task is cancelled.
public typealias NetworkChanges = BroadcastSequence<NetworkChange, NetworkMonitor>
