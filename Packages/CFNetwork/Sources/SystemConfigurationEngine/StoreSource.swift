@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import SystemConfigurationC

/// The source of a session on run loops.
///
/// Theory of operation. A version-0 source owns this object, which owns the session. The session's pump has a weak reference to it as
/// target: a change signals the source and wakes the run loops, and one of them lets the session deliver. Invalidating the source releases
/// the session.
final class StoreSource: Sendable {
    private struct Loop: @unchecked Sendable {
        // Any thread may wake a run loop.
        let value: CFRunLoop
    }

    private struct State {
        var store: Store?
        var loops: [Loop] = []
        var source: WeakSource?
    }

    private struct Store: @unchecked Sendable {
        // Any thread may retain and release an object.
        let object: SCDynamicStore
        let content: StoreContent
    }

    private struct WeakSource: @unchecked Sendable {
        // Any thread may signal a source; weak references are atomic.
        weak var value: CFRunLoopSource?
    }

    /// A weak reference to a source, as the target of its session.
    struct Reference: DeliveryTarget {
        fileprivate weak var source: StoreSource?
        /// Tells the source from others, also after it was released.
        fileprivate let identity: Identity

        /// The source, unless it is invalid or has been released.
        var validSource: CFRunLoopSource? {
            guard let value = source?.state.withLock({ $0.source })?.value else { return nil }
            return CFRunLoopSourceIsValid(value) ? value : nil
        }

        func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal(reference: self) }

        func isSame(as other: any DeliveryTarget) -> Bool {
            (other as? Reference)?.identity === identity
        }
    }

    fileprivate final class Identity: Sendable {}

    /// Signals the source. The source itself lets the session deliver.
    private final class Signal: DeliverySignal {
        private let reference: Reference

        init(reference: Reference) { self.reference = reference }

        func signal() { reference.source?.signal() }
        func cancel() {}
    }

    private let state: Locked<State>
    private let identity = Identity()

    init(_ store: SCDynamicStore, _ content: StoreContent) {
        state = Locked(State(store: Store(object: store, content: content)))
    }

    var reference: Reference { Reference(source: self, identity: identity) }

    /// Creates the source, which owns this object.
    func makeSource(_ allocator: CFAllocator?, order: CFIndex) -> CFRunLoopSource {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<StoreSource>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<StoreSource>.fromOpaque(info).release() }
        }
        context.schedule = { info, loop, _ in
            if let info, let loop { Unmanaged<StoreSource>.fromOpaque(info).takeUnretainedValue().enter(loop) }
        }
        context.cancel = { info, loop, _ in
            if let info, let loop { Unmanaged<StoreSource>.fromOpaque(info).takeUnretainedValue().leave(loop) }
        }
        context.perform = { info in
            if let info { Unmanaged<StoreSource>.fromOpaque(info).takeUnretainedValue().perform() }
        }
        let source: CFRunLoopSource = withExtendedLifetime(self) { CFRunLoopSourceCreate(allocator, order, &context) }
        let reference = WeakSource(value: source)
        state.withLock { $0.source = reference }
        return source
    }

    private func enter(_ loop: CFRunLoop) {
        let loop = Loop(value: loop)
        state.withLock { $0.loops.append(loop) }
    }

    private func leave(_ loop: CFRunLoop) {
        let loop = Loop(value: loop)
        let source = state.withLock { state in
            if let index = state.loops.firstIndex(where: { $0.value === loop.value }) { state.loops.remove(at: index) }
            return state.source
        }
        guard let source = source?.value, CFRunLoopSourceIsValid(source) else {
            let store = state.withLock { $0.store.take() }
            return withExtendedLifetime(store) {}  // released without the lock
        }
    }

    private func signal() {
        let (source, loops) = state.withLock { ($0.source, $0.loops) }
        guard let source = source?.value else { return }
        CFRunLoopSourceSignal(source)
        for loop in loops { CFRunLoopWakeUp(loop.value) }
    }

    /// Lets the session deliver as long as the source is on this run loop: a callback may invalidate or remove it.
    private func perform() {
        let store = state.withLock { $0.store }
        let reference = reference
        guard let current = CFRunLoopGetCurrent() else { return }
        let loop = Loop(value: current)
        func isOnLoop() -> Bool { state.withLock { $0.loops.contains { $0.value === loop.value } } }
        store?.content.deliver(on: reference) { reference.validSource != nil && isOnLoop() }
        // What has not been delivered waits until the source is on a run loop again.
        if !isOnLoop() { signal() }
    }
}
