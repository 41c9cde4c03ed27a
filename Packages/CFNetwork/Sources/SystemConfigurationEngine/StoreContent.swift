internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import SystemConfigurationC

/// A session of the dynamic store: SCDynamicStore.
///
/// Theory of operation. While there are notification keys, the session observes the system. After each change it takes a snapshot, and
/// compares the values of these keys with those of the previous snapshot. The keys that differ wait until the callback or
/// SCDynamicStoreCopyNotifiedKeys takes them. The object owns its content; the content refers to the object and to its source weakly.
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
        case queue(any DeliveryTarget, any DeliverySignal)
    }

    private struct State {
        var selection: KeySelection?
        /// The values of the selected keys in the last snapshot.
        var values: [String: StoreValue] = [:]
        /// The keys that have changed, in the order of their first change.
        var changed: [String] = []
        var subscription: Subscription?
        var delivery = Delivery.nowhere
    }

    private let name: String
    private let client: Client
    private weak var object: SCDynamicStore?
    private let state = Locked(State())
    /// Held while a snapshot is taken and compared, so that snapshots are compared in their order.
    private let snapshots = Locked(())

    private init(_ name: String, _ client: Client) {
        self.name = name
        self.client = client
    }

    deinit {
        if case .queue(_, let signal) = state.withLock({ $0.delivery }) { signal.cancel() }
    }

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
            selection.isEmpty ? nil : try SystemWatch.observe { [weak self] _ in self?.compare() }
        let former = snapshots.withLock { _ in
            let values = selection.isEmpty ? [:] : StoreSnapshot.current().values
            return state.withLock { state in
                let former = state.subscription
                state.subscription = subscription
                state.selection = selection
                state.values = values.filter { selection.contains($0.key) }
                state.changed.removeAll { !selection.contains($0) }
                return former
            }
        }
        former?.cancel()
    }

    /// Takes a snapshot, and signals the client if selected values have changed.
    private func compare() {
        let hasChanged = snapshots.withLock { _ in
            let snapshot = StoreSnapshot.current()
            return state.withLock { state in
                guard let selection = state.selection else { return false }
                let values = snapshot.values.filter { selection.contains($0.key) }
                let changed = Set(values.keys).union(state.values.keys).filter { values[$0] != state.values[$0] }
                state.values = values
                state.changed += changed.subtracting(state.changed).sorted()
                return !changed.isEmpty
            }
        }
        if hasChanged { signal() }
    }

    /// The keys that have changed since the last call.
    func takeChanged() -> [String] {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed
        }
    }

    // MARK: Delivery

    private func signal() {
        switch state.withLock({ $0.delivery }) {
        case .nowhere: break
        case .source(let reference): reference.signal()
        case .queue(_, let signal): signal.signal()
        }
    }

    /// Calls the client with the keys that have changed. Called on a run loop or the queue. Without a callback, they wait.
    func deliver() {
        guard let object, let callback = client.callback else { return }
        let changed = takeChanged()
        guard !changed.isEmpty else { return }
        let keys = cfArray(changed.map { cfString($0) })
        callback(object, keys.takeUnretainedValue(), client.context.info.pointer)
        keys.release()
    }

    /// The source of the session, which it has once at a time.
    ///
    /// - Throws: `notifierActive` if the session has a queue.
    func source(_ allocator: CFAllocator?, order: CFIndex) throws(Status) -> Unmanaged<CFRunLoopSource> {
        guard let object else { throw .failed }
        // Made before it is the session's, so that another thread that asks for the source at the same time receives this one.
        let new = StoreSource(object, self)
        let newSource = new.makeSource(allocator, order: order)
        let result = state.withLock { state -> Result<CFRunLoopSource?, Status> in
            switch state.delivery {
            case .queue: return .failure(.notifierActive)
            case .source(let reference):
                if let source = reference.validSource { return .success(source) }
            case .nowhere: break
            }
            state.delivery = .source(new.reference)
            return .success(nil)
        }
        let source = try result.get() ?? newSource
        if state.withLock({ !$0.changed.isEmpty }) { signal() }
        return .passRetained(source)
    }

    /// Calls the client on a queue; nil ends the calls.
    ///
    /// - Throws: `notifierActive` if the session has another queue, or a source.
    func setQueue(_ queue: (any DeliveryTarget)?) throws(Status) {
        let signal = queue?.makeSignal { [weak self] in self?.deliver() }
        let result = state.withLock { state -> Result<(any DeliverySignal)?, Status> in
            switch (state.delivery, queue, signal) {
            case (.queue(let present, _), let queue?, _):
                return present.isSame(as: queue) ? .success(signal) : .failure(.notifierActive)
            case (.source(let reference), .some, _) where reference.validSource != nil:
                return .failure(.notifierActive)
            case (.nowhere, let queue?, let signal?), (.source, let queue?, let signal?):
                state.delivery = .queue(queue, signal)
                return .success(nil)
            case (.queue(_, let former), nil, _):
                state.delivery = .nowhere
                return .success(former)
            default: return .success(nil)
            }
        }
        do throws(Status) {
            try result.get()?.cancel()
        } catch {
            signal?.cancel()
            throw error
        }
        if state.withLock({ !$0.changed.isEmpty }) { self.signal() }
    }
}
