@preconcurrency internal import CoreFoundation
public import EventLoops
public import Foundation

/// Delivery on a run loop, in one of its modes: where CFStream, CFHost and NetService call their clients.
///
/// ```swift
/// import RunLoopDelivery
///
/// stream.schedule(on: .currentRunLoop)
/// RunLoop.current.run(mode: .default, before: .distantFuture)
/// ```
///
/// Theory of operation. Each signal is a version-0 source of its own on that loop and mode, signalled and then woken with
/// `CFRunLoopWakeUp`: the one way that wakes a loop without delay and without losing anything (`RunLoop.perform` does not
/// wake it at all). While the source is there the loop is not empty, so it does not return at once.
///
/// Under Swift concurrency nobody runs the main thread's run loop; use a queue or `async` there.
public struct RunLoopTarget: DeliveryTarget, @unchecked Sendable {
    // CFRunLoop and its sources may be used from any thread for what is done here: adding, removing and signalling
    // sources, and waking. CoreFoundation locks inside; only *running* a loop belongs to its thread.
    private static let utf8: CFStringEncoding = 0x0800_0100  // kCFStringEncodingUTF8, which the importer leaves out

    /// Who the loop is. Only compared, and asked to add a timer, which CoreFoundation locks for.
    private let identity: RunLoop
    /// CoreFoundation's name for it; nil for another thread's, which only that thread can tell.
    private let loop: CFRunLoop?
    private let mode: RunLoop.Mode

    /// Delivers on the calling thread's run loop, in `mode`.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    public static func current(mode: RunLoop.Mode = .default) -> RunLoopTarget {
        RunLoopTarget(RunLoop.current, loop: CFRunLoopGetCurrent(), mode: mode)
    }

    /// Delivers on the main thread's run loop, in `mode`. Somebody must run that loop.
    public static func main(mode: RunLoop.Mode = .default) -> RunLoopTarget {
        RunLoopTarget(RunLoop.main, loop: CFRunLoopGetMain(), mode: mode)
    }

    /// Delivers on `loop`, whichever thread's it is, in `mode`.
    ///
    /// For the calling thread's loop this is ``current(mode:)``, for the main thread's ``main(mode:)``. On any other the
    /// first delivery comes when that loop has run once.
    public init(_ loop: RunLoop, mode: RunLoop.Mode = .default) {
        if loop === RunLoop.main {
            self.init(loop, loop: CFRunLoopGetMain(), mode: mode)
        } else {
            self.init(loop, loop: loop === RunLoop.current ? CFRunLoopGetCurrent() : nil, mode: mode)
        }
    }

    private init(_ identity: RunLoop, loop: CFRunLoop?, mode: RunLoop.Mode) {
        self.identity = identity
        self.loop = loop
        self.mode = mode
    }

    /// A mode as CoreFoundation names it.
    static func name(of mode: RunLoop.Mode) -> CFRunLoopMode {
        switch mode {
        case .default: kCFRunLoopDefaultMode
        case .common: kCFRunLoopCommonModes
        default: CFStringCreateWithCString(nil, mode.rawValue, utf8)
        }
    }

    /// See `DeliveryTarget.makeSignal(_:)`.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        guard let loop else { return DistantRunLoopSignal(perform, loop: identity, mode: mode) }
        return RunLoopSignal(perform, loop: loop, mode: RunLoopTarget.name(of: mode))
    }

    /// See `DeliveryTarget.isSame(as:)`.
    public func isSame(as other: any DeliveryTarget) -> Bool {
        guard let other = other as? RunLoopTarget else { return false }
        return identity === other.identity && mode == other.mode
    }
}

extension DeliveryTarget where Self == RunLoopTarget {
    /// Delivery on the calling thread's run loop in its default mode.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    public static var currentRunLoop: RunLoopTarget { RunLoopTarget.current() }

    /// Delivery on the calling thread's run loop in `mode`.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    public static func currentRunLoop(mode: RunLoop.Mode) -> RunLoopTarget { RunLoopTarget.current(mode: mode) }

    /// Delivery on the main thread's run loop in its default mode.
    public static var mainRunLoop: RunLoopTarget { RunLoopTarget.main() }
}
