@preconcurrency package import CoreFoundation
internal import EventLoops

/// The object that the source of a ``LoopSource`` owns.
package protocol LoopSourceOwner: AnyObject, Sendable {
    /// The source was added to a run loop.
    func sourceEntered()

    /// An invalid source has left a run loop. Called once for each of its run loops.
    func sourceEnded()

    /// The source was signalled: a run loop calls this.
    func sourceFired()
}

/// A version-0 source, and the run loops that it is on.
///
/// The source owns its owner, which has this object to signal the source.
package final class LoopSource: Sendable {
    private struct State: @unchecked Sendable {
        // Any thread may wake a run loop and signal a source; weak references are atomic.
        var loops: [CFRunLoop] = []
        weak var source: CFRunLoopSource?
    }

    /// What the source retains.
    private final class Info: Sendable {
        let source: LoopSource
        let owner: any LoopSourceOwner

        init(_ source: LoopSource, _ owner: any LoopSourceOwner) {
            self.source = source
            self.owner = owner
        }

        static func at(_ pointer: UnsafeMutableRawPointer?) -> Info? {
            pointer.map { Unmanaged<Info>.fromOpaque($0).takeUnretainedValue() }
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Creates the source, which owns `owner`. Call it once.
    package func makeSource(_ allocator: CFAllocator?, order: CFIndex, of owner: any LoopSourceOwner) -> CFRunLoopSource
    {
        let info = Info(self, owner)
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(info).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<Info>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<Info>.fromOpaque(info).release() }
        }
        context.schedule = { info, loop, _ in
            guard let info = Info.at(info), let loop else { return }
            info.source.enter(loop)
            info.owner.sourceEntered()
        }
        context.cancel = { info, loop, _ in
            guard let info = Info.at(info), let loop else { return }
            info.source.leave(loop)
            if info.source.validSource == nil { info.owner.sourceEnded() }
        }
        context.perform = { info in Info.at(info)?.owner.sourceFired() }
        let source: CFRunLoopSource = withExtendedLifetime(info) { CFRunLoopSourceCreate(allocator, order, &context) }
        state.withLock { $0.source = source }
        return source
    }

    /// The source; nil if it is invalid or has been released.
    package var validSource: CFRunLoopSource? {
        guard let source = state.withLock({ $0 }).source, CFRunLoopSourceIsValid(source) else { return nil }
        return source
    }

    /// Whether the source is on the run loop of the calling thread.
    package var isOnCurrentLoop: Bool {
        guard let current = CFRunLoopGetCurrent() else { return false }
        return state.withLock { $0 }.loops.contains { $0 === current }
    }

    /// Signals the source, and wakes its run loops.
    package func signal() {
        let state = state.withLock { $0 }
        guard let source = state.source else { return }
        CFRunLoopSourceSignal(source)
        for loop in state.loops { CFRunLoopWakeUp(loop) }
    }

    private func enter(_ loop: CFRunLoop) { state.withLock { $0.loops.append(loop) } }

    private func leave(_ loop: CFRunLoop) {
        state.withLock { state in
            if let index = state.loops.firstIndex(where: { $0 === loop }) { state.loops.remove(at: index) }
        }
    }
}
