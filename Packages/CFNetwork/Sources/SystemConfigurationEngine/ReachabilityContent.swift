internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
@preconcurrency internal import CoreFoundation
internal import Dispatch
internal import EventLoops
internal import HostResolver
internal import SystemConfigurationC

/// The host of an SCNetworkReachability.
enum ReachabilityTarget: Sendable {
    case name(String)
    /// The addresses of a connection.
    case addresses(local: IPAddress?, remote: IPAddress?)
}

/// A host whose reachability is asked for or watched: SCNetworkReachability.
///
/// Theory of operation. While the target is scheduled, it observes the system and compares its flags with those that it reported last. The
/// addresses of a name are looked up when the watch begins, after each change, and again after a failure (``LookupSchedule``); until there are
/// some, its flags are empty. If a later lookup gives no answer, the addresses stay: the flags then say whether they can be reached. The
/// object owns its content; the content refers to the object weakly.
final class ReachabilityContent: ObjectContent, @unchecked Sendable {
    // The locks protect all state. The object is set once, before the program has it.
    static let typeID = cfn_class_register("SCNetworkReachability")

    /// The function that is called after changes, and its pointer.
    struct Client: Sendable {
        let callback: SCNetworkReachabilityCallBack
        let context: ClientContext
    }

    /// What belongs to the time during which the target is scheduled.
    private struct Watch {
        /// The number of this watch: what an earlier one has begun is dropped.
        let number: Int
        let subscription: Subscription
        /// The addresses of a name; nil before a lookup has found any.
        var addresses: [IPAddress]?
        var lookups: LookupSchedule
        var lookup: HostLookup?
        /// Before the next lookup.
        var pause: LoopTimer?
        var reported: ReachabilityFlags = []
        var flags: ReachabilityFlags = []
    }

    private struct State {
        var client: Client?
        var watch: Watch?
        var lastWatch = 0
    }

    /// Where the client is called. A queue excludes run loops.
    private enum Schedule {
        case nowhere
        /// The number of run loops, which is not 0.
        case runLoops(Int)
        case queue(any DeliveryTarget)
    }

    /// Where changes are examined and lookups end. No file is read there: all targets of the process wait for each other.
    private static let queue = QueueTarget(DispatchQueue(label: "SCNetworkReachability"))

    private let target: ReachabilityTarget
    private let resolver: any HostLookup.AnyResolver
    /// The schedule of a watch at its beginning.
    private let lookups: LookupSchedule
    private weak var object: SCNetworkReachability?
    private let state = Locked(State())
    /// Held while run loops or the queue are added and removed, so that the target is watched exactly while there are any.
    private let schedule = Locked(Schedule.nowhere)
    private let pump = EventPump(isReentrant: true)
    /// Held while flags are determined and compared, so that they are compared in their order.
    private let comparisons = Locked(())

    private init(
        _ target: ReachabilityTarget, resolver: any HostLookup.AnyResolver, lookups: LookupSchedule
    ) {
        self.target = target
        self.resolver = resolver
        self.lookups = lookups
    }

    deinit {
        pump.stop()
        endWatch()
    }

    /// Creates a target.
    static func makeTarget(
        _ allocator: CFAllocator?, _ target: ReachabilityTarget,
        resolver: any HostLookup.AnyResolver = SystemResolver.shared, lookups: LookupSchedule = LookupSchedule()
    ) -> Unmanaged<SCNetworkReachability>? {
        let content = ReachabilityContent(target, resolver: resolver, lookups: lookups)
        let object: Unmanaged<SCNetworkReachability>? = makeObject(allocator, typeID, content)
        content.object = object?.takeUnretainedValue()
        return object
    }

    var summary: String {
        let context = state.withLock { $0.client }?.context.description
        let host =
            switch target {
            case .name(let name): name
            case .addresses(let local, let remote):
                [local, remote].compactMap { $0?.description }.joined(separator: " to ")
            }
        return [host, context].compactMap(\.self).joined(separator: ", ")
    }

    // MARK: Flags

    /// The present flags. For a name, waits for its addresses, as CFHost does.
    ///
    /// - Throws: `reachabilityUnknown` if the kernel cannot be queried.
    func flags() throws(Status) -> ReachabilityFlags {
        do throws(ResolverError) {
            switch target {
            case .name(let name):
                let host = HostLookup(name: name, resolver: resolver)
                try host.resolve(.reachability)
                return host.reachability.value ?? []
            case .addresses(let local, let remote): return try Self.flags(from: local, to: remote)
            }
        } catch {
            if error.domain == .systemConfiguration { throw .reachabilityUnknown }
            return []
        }
    }

    private static func flags(
        from local: IPAddress?, to remote: IPAddress?
    ) throws(ResolverError) -> ReachabilityFlags {
        guard let local else { return try ReachabilityFlags(of: [remote].compactMap(\.self)) }
        let ownFlags = try ReachabilityFlags(of: [local])
        guard let remote else { return ownFlags }
        return local.isAny || ownFlags.contains(.isLocalAddress) ? try ReachabilityFlags(of: [remote]) : []
    }

    // MARK: The client

    func setClient(_ new: Client?) {
        let former = state.withLock { state in
            let former = state.client
            state.client = new
            return former
        }
        // The former pointer is released here, outside the lock: its function may use the target.
        withExtendedLifetime(former) {}
        pump.signal()
    }

    /// Calls the client with the flags, if they differ from those that it was called with last. Without a client, they wait.
    private func deliver(on target: any DeliveryTarget) {
        pump.deliver(on: target) {
            let (client, flags) = state.withLock { state -> (Client?, ReachabilityFlags) in
                guard let client = state.client, let watch = state.watch, watch.flags != watch.reported else {
                    return (nil, [])
                }
                state.watch?.reported = watch.flags
                return (client, watch.flags)
            }
            guard let object, let client else { return .nothing }
            client.callback(
                object, SCNetworkReachabilityFlags(rawValue: flags.rawValue), client.context.info.pointer)
            return .delivered
        }
    }

    // MARK: Scheduling

    /// Adds a run loop.
    ///
    /// - Throws: `invalidArgument` if there is a queue; `failed` if the process has no descriptor left.
    func schedule(on runLoop: any DeliveryTarget) throws(Status) {
        try schedule.withLock { schedule throws(Status) in
            let count: Int
            switch schedule {
            case .nowhere:
                try beginWatch()
                count = 0
            case .runLoops(let present): count = present
            case .queue: throw .invalidArgument
            }
            let isNew = pump.schedule(on: runLoop) { [weak self] in self?.deliver(on: runLoop) }
            schedule = .runLoops(isNew ? count + 1 : count)
        }
    }

    /// Removes a run loop.
    ///
    /// - Throws: `invalidArgument` if the target is not scheduled there.
    func unschedule(from runLoop: any DeliveryTarget) throws(Status) {
        try schedule.withLock { schedule throws(Status) in
            guard case .runLoops(let count) = schedule, pump.unschedule(from: runLoop) else { throw .invalidArgument }
            if count > 1 {
                schedule = .runLoops(count - 1)
            } else {
                endWatch()
                schedule = .nowhere
            }
        }
    }

    /// Sets the queue; nil removes it.
    ///
    /// - Throws: `invalidArgument` if there is another queue or a run loop; `failed` if the process has no descriptor left.
    func setQueue(_ queue: (any DeliveryTarget)?) throws(Status) {
        try schedule.withLock { schedule throws(Status) in
            switch (schedule, queue) {
            case (.nowhere, let queue?):
                try beginWatch()
                pump.schedule(on: queue) { [weak self] in self?.deliver(on: queue) }
                schedule = .queue(queue)
            case (.queue(let present), let queue?):
                if !present.isSame(as: queue) { throw .invalidArgument }
            case (.queue(let present), nil):
                pump.unschedule(from: present)
                endWatch()
                schedule = .nowhere
            case (.runLoops, .some): throw .invalidArgument
            case (.nowhere, nil), (.runLoops, nil): break
            }
        }
    }

    // MARK: Watching

    /// Begins to watch, with the present flags as those that have been reported. The caller holds ``schedule``.
    private func beginWatch() throws(Status) {
        let number = state.withLock { state in
            state.lastWatch += 1
            return state.lastWatch
        }
        let subscription = try SystemWatch.observe(on: Self.queue) { [weak self] _ in self?.systemChanged() }
        state.withLock { $0.watch = Watch(number: number, subscription: subscription, lookups: lookups) }
        switch target {
        case .name: advance(number) { $0.changed() }
        case .addresses: compare(number, isBaseline: true)
        }
    }

    /// Ends the watch. The caller holds ``schedule``.
    private func endWatch() {
        let watch = state.withLock { $0.watch.take() }
        watch?.pause?.cancel()
        watch?.subscription.cancel()
    }

    /// Called after each change of the system.
    func systemChanged() {
        guard let number = state.withLock({ $0.watch?.number }) else { return }
        compare(number)
        if case .name = target { advance(number) { $0.changed() } }
    }

    /// Determines the flags. As a baseline, they count as reported.
    private func compare(_ number: Int, isBaseline: Bool = false) {
        let hasChanged = comparisons.withLock { _ -> Bool? in
            let addresses = state.withLock { $0.watch?.addresses }
            let flags: ReachabilityFlags
            switch target {
            // If the kernel cannot be queried now, it is queried again later.
            case .name:
                guard let addresses else { return false }
                guard let found = try? ReachabilityFlags(of: addresses) else { return nil }
                flags = found
            case .addresses(let local, let remote):
                guard let found = try? Self.flags(from: local, to: remote) else { return nil }
                flags = found
            }
            return state.withLock { state in
                guard state.watch?.number == number else { return false as Bool? }
                state.watch?.flags = flags
                if isBaseline { state.watch?.reported = flags }
                return state.watch?.reported != flags
            }
        }
        switch hasChanged {
        case true?: pump.signal()
        case false?: break
        case nil:
            SystemWatch.repeatLater(on: Self.queue) { [weak self] in self?.compare(number, isBaseline: isBaseline) }
        }
    }

    // MARK: Looking up

    /// Changes the schedule of lookups, and does what follows.
    private func advance(_ number: Int, _ change: (inout LookupSchedule) -> LookupSchedule.Action) {
        let action = state.withLock { state -> LookupSchedule.Action in
            guard var watch = state.watch, watch.number == number else { return .nothing }
            defer { state.watch = watch }
            return change(&watch.lookups)
        }
        switch action {
        case .nothing: break
        case .lookUp: lookUp(number)
        case .wait(let pause): wait(pause, number)
        }
    }

    private func wait(_ pause: Duration, _ number: Int) {
        let timer = EventLoop.shared.schedule(at: .now + pause) { [weak self] in
            Self.queue.queue.async { [weak self] in self?.advance(number) { $0.pauseEnded() } }
        }
        let isCurrent = state.withLock { state in
            guard state.watch?.number == number else { return false }
            state.watch?.pause = timer
            return true
        }
        if !isCurrent { timer.cancel() }
    }

    private func lookUp(_ number: Int) {
        guard case .name(let name) = target else { return }
        let lookup = HostLookup(name: name, resolver: resolver)
        lookup.setClient { [weak self] lookup, _, error in self?.ended(lookup, error, number) }
        lookup.schedule(on: Self.queue)
        let (former, pause) = state.withLock { state -> (HostLookup?, LoopTimer?) in
            guard state.watch?.number == number else { return (lookup, nil) }
            defer { state.watch?.lookup = lookup }
            return (state.watch?.lookup, state.watch?.pause.take())
        }
        pause?.cancel()
        withExtendedLifetime(former) {}  // released without the lock
        // An invalid name has no addresses.
        try? lookup.start(.addresses)
    }

    private func ended(_ lookup: HostLookup, _ error: ResolverError?, _ number: Int) {
        var counts = false
        advance(number) { schedule in
            let outcome: LookupSchedule.Outcome =
                switch error?.code {
                case nil: .found
                case .hostNotFound, .noData: .gone
                default: .failed
                }
            let action: LookupSchedule.Action
            (counts, action) = schedule.ended(outcome)
            return action
        }
        guard counts else { return }
        let addresses = lookup.addresses.value?.compactMap(\.ipAddress) ?? []
        state.withLock { if $0.watch?.number == number { $0.watch?.addresses = addresses } }
        compare(number)
    }
}
