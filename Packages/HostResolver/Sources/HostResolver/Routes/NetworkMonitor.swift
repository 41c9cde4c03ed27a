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

/// The parts of this machine's network that have changed.
public struct NetworkChange: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Interfaces were added or removed, or changed state.
    public static let links = NetworkChange(rawValue: 1)
    /// Addresses were added or removed.
    public static let addresses = NetworkChange(rawValue: 2)
    /// Routes were added or removed.
    public static let routes = NetworkChange(rawValue: 4)
    /// Anything may have changed: the kernel dropped messages because there were too many.
    public static let all: NetworkChange = [.links, .addresses, .routes]

    /// Creates the set of changes that the kernel's messages report.
    init(_ messages: [NetlinkMessage]) {
        self = []
        for message in messages {
            switch message.type {
            case RouteNetlink.newLink, RouteNetlink.deleteLink: insert(.links)
            case RouteNetlink.newAddress, RouteNetlink.deleteAddress: insert(.addresses)
            case RouteNetlink.newRoute, RouteNetlink.deleteRoute: insert(.routes)
            default: break
            }
        }
    }
}

/// The changes of this machine's network, from ``NetworkMonitor/changes()``.
///
/// The sequence ends when its monitor is closed or the task is cancelled.
public struct NetworkChanges: AsyncSequence, Sendable {
    /// The parts of the network that have changed.
    public typealias Element = NetworkChange
    /// The sequence never fails.
    public typealias Failure = Never

    fileprivate let listener: ChangeListener
    /// The monitor, kept alive as long as the sequence.
    fileprivate let monitor: NetworkMonitor

    /// Creates an iterator. It returns the changes since ``NetworkMonitor/changes()`` was called.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: self)
    }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let changes: NetworkChanges

        /// Returns the next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkChange? {
            await changes.listener.next()
        }

        /// Returns the next change; nil at the end.
        public mutating func next() async -> NetworkChange? {
            await changes.listener.next()
        }
    }
}

/// A subscription to changes of the network, from ``NetworkMonitor/onChange(on:_:)``. Releasing it ends the calls.
public final class NetworkSubscription: Sendable {
    private let listener: ChangeListener
    private let monitor: NetworkMonitor
    private let signal: any DeliverySignal

    init(
        listener: ChangeListener, monitor: NetworkMonitor, target: any DeliveryTarget,
        handler: @escaping @Sendable (NetworkChange) -> Void
    ) {
        self.listener = listener
        self.monitor = monitor
        signal = target.makeSignal {
            let change = listener.take()
            if !change.isEmpty { handler(change) }
        }
        listener.notify(signal)
    }

    deinit { cancel() }

    /// Ends the calls. If this is called on the target itself, no call follows its return.
    public func cancel() {
        signal.cancel()
        listener.end()
    }
}

/// A broadcast of changes to all listeners.
final class ChangeHub: Sendable {
    private struct State {
        var listeners: [ObjectIdentifier: WeakListener] = [:]
        var hasEnded = false
    }

    private struct WeakListener {
        weak var listener: ChangeListener?
    }

    private let state = Locked(State())

    func listen() -> ChangeListener {
        let listener = ChangeListener()
        let hasEnded = state.withLock { state in
            state.listeners = state.listeners.filter { $0.value.listener != nil }
            state.listeners[ObjectIdentifier(listener)] = WeakListener(listener: listener)
            return state.hasEnded
        }
        if hasEnded { listener.end() }
        return listener
    }

    func publish(_ change: NetworkChange) {
        for listener in state.withLock({ $0.listeners.values.compactMap(\.listener) }) { listener.put(change) }
    }

    func end() {
        let listeners = state.withLock { state in
            state.hasEnded = true
            return state.listeners.values.compactMap(\.listener)
        }
        for listener in listeners { listener.end() }
    }
}

/// One listener's pending changes, combined into one, with a notification when there are some.
final class ChangeListener: Sendable {
    private struct State {
        var change: NetworkChange = []
        var hasEnded = false
        var signal: (any DeliverySignal)?
    }

    private let state = Locked(State())
    private let point = WaitPoint()

    func put(_ change: NetworkChange) {
        let signal = state.withLock { state in
            state.change.formUnion(change)
            return state.signal
        }
        point.signal(.readable)
        signal?.signal()
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        point.close()
    }

    /// Signals `signal` at each change.
    func notify(_ signal: any DeliverySignal) {
        let hasChange = state.withLock { state in
            state.signal = signal
            return !state.change.isEmpty
        }
        if hasChange { signal.signal() }
    }

    /// Returns the changes since the last call; empty if there are none.
    func take() -> NetworkChange {
        state.withLock { state in
            defer { state.change = [] }
            return state.change
        }
    }

    /// Returns the next change; nil at the end, or if the task is cancelled.
    nonisolated(nonsending) func next() async -> NetworkChange? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        while true {
            let change = take()
            if !change.isEmpty { return change }
            guard await point.readerWait(for: .readable, until: nil) == .ready else { return nil }
        }
    }
}
