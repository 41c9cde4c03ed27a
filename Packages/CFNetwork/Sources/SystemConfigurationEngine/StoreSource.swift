internal import CFNetworkEngine
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import SystemConfigurationC

/// The source of a session on run loops.
///
/// Theory of operation. A version-0 source owns this object, which owns the session. The session's pump has a weak reference to it as
/// target: a change signals the source and wakes the run loops, and one of them lets the session deliver. Invalidating the source releases
/// the session.
final class StoreSource: LoopSourceOwner {
    private struct Store: @unchecked Sendable {
        // Any thread may retain and release an object.
        let object: SCDynamicStore
        let content: StoreContent
    }

    /// A weak reference to a source, as the target of its session.
    struct Reference: DeliveryTarget {
        fileprivate weak var source: StoreSource?
        /// Tells the source from others, also after it was released.
        fileprivate let identity: Identity

        /// The source, unless it is invalid or has been released.
        var validSource: CFRunLoopSource? { source?.source.validSource }

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

        func signal() { reference.source?.source.signal() }
        func cancel() {}
    }

    private let store: Locked<Store?>
    private let source = LoopSource()
    private let identity = Identity()

    init(_ store: SCDynamicStore, _ content: StoreContent) {
        self.store = Locked(Store(object: store, content: content))
    }

    var reference: Reference { Reference(source: self, identity: identity) }

    /// Creates the source, which owns this object.
    func makeSource(_ allocator: CFAllocator?, order: CFIndex) -> CFRunLoopSource {
        source.makeSource(allocator, order: order, of: self)
    }

    func sourceEntered() {}

    func sourceEnded() {
        let store = store.withLock { $0.take() }
        withExtendedLifetime(store) {}  // released without the lock
    }

    /// Lets the session deliver as long as the source is on this run loop: a callback may invalidate or remove it.
    func sourceFired() {
        let store = store.withLock { $0 }
        store?.content.deliver(on: reference) { source.validSource != nil && source.isOnCurrentLoop }
        // What has not been delivered waits until the source is on a run loop again.
        if !source.isOnCurrentLoop { source.signal() }
    }
}
