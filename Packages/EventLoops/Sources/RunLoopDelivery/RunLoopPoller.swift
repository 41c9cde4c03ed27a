@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import Foundation

/// The poller of a run loop in a mode: a version-1 source that waits for the poller's descriptor.
///
/// The run loop itself waits for the descriptors whose events it delivers. No other thread is woken, which halves the cost of an event.
///
/// Theory of operation. On Linux, the port of a version-1 source is a descriptor, which the run loop adds to its own epoll set. The
/// run loop reads eight bytes from a port that is ready, as from an eventfd. It must therefore not be a socket; reading from an epoll
/// descriptor fails without effect.
///
/// The signals on one run loop and mode share the poller, and each of them is a *user*. The source ends with the last one, so that it
/// does not keep the run loop from returning.
final class RunLoopPoller: @unchecked Sendable {
    // The properties are set once. See RunLoopTarget for the reason why any thread may use CoreFoundation here.
    let poller: DescriptorPoller
    private let source: CFRunLoopSource
    private let key: Key

    /// A run loop by its address, which is unique because the users retain it, and a mode.
    private struct Key: Hashable {
        let loop: UInt
        let mode: RunLoop.Mode
    }
    private static let pollers = Locked<[Key: (poller: RunLoopPoller, users: Int)]>([:])

    /// The poller of a run loop in a mode, for one more user, which must call ``endUse()``. Nil if the system has no descriptor for it.
    static func use(by loop: CFRunLoop, _ mode: RunLoop.Mode) -> RunLoopPoller? {
        let key = Key(loop: UInt(bitPattern: Unmanaged.passUnretained(loop).toOpaque()), mode: mode)
        let (poller, isNew) = pollers.withLock { pollers -> (RunLoopPoller?, Bool) in
            if let known = pollers[key] {
                pollers[key] = (known.poller, known.users + 1)
                return (known.poller, false)
            }
            let new = DescriptorPoller().map { RunLoopPoller($0, key) }
            pollers[key] = new.map { ($0, 1) }
            return (new, true)
        }
        if let poller, isNew {
            CFRunLoopAddSource(loop, poller.source, RunLoopTarget.name(of: mode))
            CFRunLoopWakeUp(loop)  // makes a loop that is waiting wait for the new port, too
        }
        return poller
    }

    /// Ends the use by one user.
    func endUse() {
        let isUnused = RunLoopPoller.pollers.withLock { pollers -> Bool in
            guard let known = pollers[key], known.users > 1 else { return pollers.removeValue(forKey: key) != nil }
            pollers[key] = (known.poller, known.users - 1)
            return false
        }
        if isUnused { CFRunLoopSourceInvalidate(source) }
    }

    private init(_ poller: DescriptorPoller, _ key: Key) {
        self.poller = poller
        self.key = key
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(poller).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<DescriptorPoller>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<DescriptorPoller>.fromOpaque(info).release() }
        }
        context.getPort = { info in
            guard let info else { return -1 }
            return Unmanaged<DescriptorPoller>.fromOpaque(info).takeUnretainedValue().descriptor
        }
        context.perform = { info in
            if let info { Unmanaged<DescriptorPoller>.fromOpaque(info).takeUnretainedValue().poll() }
        }
        source = withUnsafeMutablePointer(to: &context) { context in
            context.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                CFRunLoopSourceCreate(nil, 0, $0)
            }
        }
    }
}
