internal import EventLoops

/// Tells when interfaces, addresses or routes of this machine change.
///
/// ```swift
/// let monitor = try NetworkMonitor()
/// for await flags in monitor.reachability(of: [IPAddress("192.0.2.1")!]) {
///     print(flags)                    // now, and whenever it becomes something else
/// }
/// ```
///
/// Many changes in short order are told as one. The monitor lives until ``close()`` or until it is let go; its sequences end
/// then, and when the kernel can no longer be listened to. It costs one descriptor and, between changes, nothing.
public final class NetworkMonitor: Sendable {
    /// How long the network must be quiet before changes are told.
    public static let defaultQuietTime: Duration = .milliseconds(50)

    private let point: WaitPoint
    private let hub: ChangeHub

    /// Begins to watch.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/system`` if the kernel gives no netlink socket.
    public init(quietTime: Duration = defaultQuietTime) throws(ResolverError) {
        let point = WaitPoint(descriptor: try RouteSocket.open(groups: RouteNetlink.changeGroups), ownership: .owned)
        let hub = ChangeHub()
        self.point = point
        self.hub = hub
        // The task knows the descriptor and the listeners, not the monitor: letting the monitor go ends it.
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

    /// Ends watching, and all sequences. Idempotent.
    public func close() {
        point.close()
        hub.end()
    }

    /// The changes from now on, as they are told; a slow reader gets several as one.
    public func changes() -> NetworkChanges {
        NetworkChanges(listener: hub.listen(), monitor: self)
    }

    /// How `addresses` can be reached: at once, and whenever that becomes something else.
    ///
    /// If the kernel cannot be asked, nothing is reachable.
    public func reachability(of addresses: [IPAddress]) -> ReachabilityChanges {
        ReachabilityChanges(changes: changes(), addresses: addresses)
    }

    /// Has `handler` called on `target` at each change until the subscription is cancelled or let go.
    public func onChange(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (NetworkChange) -> Void
    ) -> NetworkSubscription {
        NetworkSubscription(listener: hub.listen(), monitor: self, target: target, handler: handler)
    }
}
