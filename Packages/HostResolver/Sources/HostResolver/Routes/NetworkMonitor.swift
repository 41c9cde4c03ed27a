internal import EventLoops

/// A monitor of this machine's network, which reports changes of interfaces, addresses and routes.
///
/// ```swift
/// let monitor = try NetworkMonitor()
/// for await flags in monitor.reachability(of: [IPAddress("192.0.2.1")!]) {
///     print(flags)                    // the current value, and each new one
/// }
/// ```
///
/// Changes in quick succession are reported as one. The monitor works until ``close()`` or until it is released. Its
/// sequences end then, or when the kernel's socket fails. It costs one descriptor and, between changes, no processor
/// time.
public final class NetworkMonitor: Sendable {
    /// The time without changes after which a report is made: 50 ms.
    public static let defaultQuietTime: Duration = .milliseconds(50)

    private let point: WaitPoint
    private let hub: ChangeHub

    /// Creates a monitor and starts it.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/system`` if the kernel provides no netlink socket.
    public init(quietTime: Duration = defaultQuietTime) throws(ResolverError) {
        let point = WaitPoint(descriptor: try RouteSocket.open(groups: RouteNetlink.changeGroups), ownership: .owned)
        let hub = ChangeHub()
        self.point = point
        self.hub = hub
        // The task refers to the descriptor and the listeners, but not to the monitor: releasing the monitor ends the
        // task.
        Task(executorPreference: EventLoop.shared) {
            if point.enter(.reader) == .entered {
                let watch = NetworkWatch(quietTime: quietTime) {
                    point.isClosed(.reader) ? .end : RouteSocket.reading(point.descriptor)
                } wait: { deadline in
                    await point.readerWait(for: .readable, until: deadline.map(Moment.init))
                }
                await watch.run { hub.publish($0) }
                point.leave(.reader)
            }
            hub.end()
        }
    }

    deinit { close() }

    /// Stops the monitor and ends all sequences. Idempotent.
    public func close() {
        point.close()
        hub.end()
    }

    /// Returns the changes from now on. A slow reader gets several changes combined into one.
    public func changes() -> NetworkChanges {
        NetworkChanges(listener: hub.listen(), monitor: self)
    }

    /// Returns the reachability of a host with the given addresses: the current value, and each new one.
    ///
    /// If the kernel cannot be queried, the host is reported as unreachable.
    public func reachability(of addresses: [IPAddress]) -> ReachabilityChanges {
        ReachabilityChanges(changes: changes(), addresses: addresses)
    }

    /// Calls `handler` on `target` at each change, until the subscription is cancelled or released.
    public func onChange(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (NetworkChange) -> Void
    ) -> NetworkSubscription {
        NetworkSubscription(listener: hub.listen(), monitor: self, target: target, handler: handler)
    }
}
