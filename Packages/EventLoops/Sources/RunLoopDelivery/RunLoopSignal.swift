@preconcurrency internal import CoreFoundation
internal import EventLoops
// Not used by name: importing Foundation is what links CoreFoundation's symbols.
internal import Foundation

/// One version-0 source on one loop and mode. The loop keeps the source, the source keeps what it performs.
final class RunLoopSignal: DeliverySignal, @unchecked Sendable {
    // The properties are set once; see RunLoopTarget for why CoreFoundation may be used from any thread here.
    private let loop: CFRunLoop
    private let source: CFRunLoopSource

    private let body: Body

    /// Emptied by cancelling: the source keeps its info until it goes itself, and that often holds, in the end, who holds
    /// this signal.
    private final class Body: Sendable {
        private let perform: Locked<(@Sendable () -> Void)?>
        init(_ perform: @escaping @Sendable () -> Void) { self.perform = Locked(perform) }

        func run() { perform.withLock { $0 }?() }

        func empty() {
            let perform = perform.withLock { $0.take() }
            withExtendedLifetime(perform) {}  // let go of after the lock
        }
    }

    init(_ perform: @escaping @Sendable () -> Void, loop: CFRunLoop, mode: CFRunLoopMode) {
        self.loop = loop
        let body = Body(perform)
        self.body = body
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(body).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<Body>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<Body>.fromOpaque(info).release() }
        }
        context.perform = { info in
            if let info { Unmanaged<Body>.fromOpaque(info).takeUnretainedValue().run() }
        }
        source = withExtendedLifetime(body) { CFRunLoopSourceCreate(nil, 0, &context) }
        CFRunLoopAddSource(loop, source, mode)
        CFRunLoopWakeUp(loop)  // a loop that waits already looks at its sources anew
    }

    deinit { cancel() }

    func signal() {
        CFRunLoopSourceSignal(source)
        CFRunLoopWakeUp(loop)
    }

    func cancel() {
        body.empty()
        CFRunLoopSourceInvalidate(source)
        CFRunLoopWakeUp(loop)  // so that a loop left empty by this returns
    }
}
