import EventLoops
import Foundation
import RunLoopDelivery

/// Signals the main run loop from an event loop.
@main struct Consumer {
    static func main() {
        let signal = RunLoopTarget(RunLoop.main).makeSignal {
            print("called on the main run loop: \(Thread.isMainThread)")
            exit(0)
        }
        let timer = EventLoop.shared.schedule(at: .now + .milliseconds(20)) { signal.signal() }
        while RunLoop.main.run(mode: .default, before: .distantFuture) {}
        timer.cancel()
    }
}
