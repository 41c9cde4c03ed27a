internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
@preconcurrency internal import CoreFoundation
internal import Dispatch
internal import EventLoops
internal import SystemConfigurationC

/// A session of the dynamic store: SCDynamicStore.
///
/// Theory of operation. While there are notification keys, the session observes the system. After each change it takes a snapshot, and
/// compares the values of these keys with those of the previous snapshot. The keys that differ wait until the callback or
/// SCDynamicStoreCopyNotifiedKeys takes them. The pump makes the calls of the callback, one at a time, on a concurrent queue or several run
/// loops as well. The object owns its content; the content refers to the object and to its source weakly.
final class StoreContent: ObjectContent, @unchecked Sendable {
    // The locks protect all state. The object is set once, before the program has it.
    static let typeID = cfn_class_register("SCDynamicStore")

    /// The function that is called after changes, and its pointer.
    struct Client: Sendable {
        let callback: SCDynamicStoreCallBack?
        let context: ClientContext
    }

    /// Where the client is called.
    private enum Delivery {
        case nowhere
        case source(StoreSource.Reference)
        case queue(any DeliveryTarget)
    }

    private struct State {
        var selection: KeySelection?
        /// The values of the selected keys in the last snapshot.
        var values: [String: StoreValue] = [:]
        /// The keys that have changed, in the order of their first change.
        var changed: [String] = []
        var subscription: Subscription?
    }

    /// Where values are compared. A session that reads files from a disk that does not answer keeps no other one waiting.
    private let queue = QueueTarget(DispatchQueue(label: "SCDynamicStore"))
    private let name: String
    private let client: Client
    private weak var object: SCDynamicStore?
    private let state = Locked(State())
    /// Held while a snapshot is taken and compared, so that snapshots are compared in their order.
    private let snapshots = Locked(())
    /// Held while the place of the client changes, so that the pump has the target of that place.
    private let delivery = Locked(Delivery.nowhere)
    private let pump = EventPump(isReentrant: true)

    private init(_ name: String, _ client: Client) {
        self.name = name
        self.client = client
    }

    deinit { pump.stop() }

    /// Creates a session.
    static func makeStore(_ allocator: CFAllocator?, _ name: String, _ client: Client) -> Unmanaged<SCDynamicStore>? {
        let content = StoreContent(name, client)
        let object: Unmanaged<SCDynamicStore>? = makeObject(allocator, typeID, content)
        content.object = object?.takeUnretainedValue()
        return object
    }

    var summary: String { ([name] + [client.context.description].compactMap(\.self)).joined(separator: ", ") }

    // MARK: Notification keys

    /// Reports the changes of the selected keys from now on.
    ///
    /// - Throws: the status of a failure, if the process has no descriptor left. The former keys stay.
    func select(_ selection: KeySelection) throws(Status) {
        let subscription =
            selection.isEmpty ? nil : try SystemWatch.observe(on: queue) { [weak self] _ in self?.compare() }
        let former = try snapshots.withLock { _ throws(Status) in
            // Patterns are matched without the lock of the state, which threads of the program wait for.
            let values = try StoreSnapshot.values(of: selection)
            let selected = Set(state.withLock { $0.changed }.filter(selection.contains))
            return state.withLock { state in
                let former = state.subscription
                state.subscription = subscription
                state.selection = selection
                state.values = values
                state.changed.removeAll { !selected.contains($0) }
                return former
            }
        }
        former?.cancel()
    }

    /// Takes a snapshot, and signals the client if selected values have changed. If none can be taken just now, one is taken later.
    func compare() {
        let hasChanged = snapshots.withLock { _ -> Bool? in
            guard let selection = state.withLock({ $0.selection }) else { return false }
            guard let values = try? StoreSnapshot.values(of: selection) else { return nil }
            return state.withLock { state in
                let changed = Set(values.keys).union(state.values.keys).filter { values[$0] != state.values[$0] }
                state.values = values
                state.changed += changed.subtracting(state.changed).sorted()
                return !changed.isEmpty
            }
        }
        switch hasChanged {
        case true?: pump.signal()
        case false?: break
        case nil: SystemWatch.repeatLater(on: queue) { [weak self] in self?.compare() }
        }
    }

    /// The keys that have changed since the last call.
    func takeChanged() -> [String] {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed
        }
    }

    // MARK: Delivery

    /// Calls the client with the keys that have changed. Called on the target, a run loop or the queue. Without a callback, they wait.
    ///
    /// - Parameter isCalled: whether the client is still to be called there.
    func deliver(on target: any DeliveryTarget, while isCalled: () -> Bool = { true }) {
        pump.deliver(on: target) {
            guard isCalled(), let object, let callback = client.callback else { return .nothing }
            let changed = takeChanged()
            guard !changed.isEmpty else { return .nothing }
            let keys = cfArray(changed.map { cfString($0) })
            callback(object, keys.takeUnretainedValue(), client.context.info.pointer)
            keys.release()
            return .delivered
        }
    }

    private func schedule(on target: any DeliveryTarget) {
        pump.schedule(on: target) { [weak self] in self?.deliver(on: target) }
    }

    /// The source of the session, which it has once at a time.
    ///
    /// - Throws: `notifierActive` if the session has a queue.
    func source(_ allocator: CFAllocator?, order: CFIndex) throws(Status) -> Unmanaged<CFRunLoopSource> {
        guard let object else { throw .failed }
        // Made before it is the session's, so that another thread that asks for the source at the same time receives this one.
        let new = StoreSource(object, self)
        let newSource = new.makeSource(allocator, order: order)
        let result = delivery.withLock { delivery -> Result<CFRunLoopSource?, Status> in
            switch delivery {
            case .queue: return .failure(.notifierActive)
            case .source(let reference):
                if let source = reference.validSource { return .success(source) }
                pump.unschedule(from: reference)
            case .nowhere: break
            }
            delivery = .source(new.reference)
            schedule(on: new.reference)
            return .success(nil)
        }
        let source = try result.get() ?? newSource
        if state.withLock({ !$0.changed.isEmpty }) { pump.signal() }
        return .passRetained(source)
    }

    /// Calls the client on a queue; nil ends the calls.
    ///
    /// - Throws: `notifierActive` if the session has another queue, or a source.
    func setQueue(_ queue: (any DeliveryTarget)?) throws(Status) {
        try delivery.withLock { delivery throws(Status) in
            switch (delivery, queue) {
            case (.queue(let present), let queue?):
                if !present.isSame(as: queue) { throw .notifierActive }
            case (.queue(let present), nil):
                pump.unschedule(from: present)
                delivery = .nowhere
            case (.source(let reference), let queue?):
                if reference.validSource != nil { throw .notifierActive }
                pump.unschedule(from: reference)
                delivery = .queue(queue)
                schedule(on: queue)
            case (.nowhere, let queue?):
                delivery = .queue(queue)
                schedule(on: queue)
            case (.nowhere, nil), (.source, nil): break
            }
        }
        if state.withLock({ !$0.changed.isEmpty }) { pump.signal() }
    }
}
