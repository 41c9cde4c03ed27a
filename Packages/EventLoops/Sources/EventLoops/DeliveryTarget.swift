/// A place where callbacks run: a dispatch queue, an ``EventLoop``, or (product `RunLoopDelivery`) a run loop and mode.
///
/// ```swift
/// stream.schedule(on: .queue(.main))
/// ```
public protocol DeliveryTarget: Sendable {
    /// Makes something to ring: each ``DeliverySignal/signal()`` is followed by one later call of `perform` on the target;
    /// rings that come before that call are answered by it together.
    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal

    /// True if both name the same place, so that what was scheduled there can be found again.
    func isSame(as other: any DeliveryTarget) -> Bool
}

/// A bell on a ``DeliveryTarget``. It keeps the target's loop from being empty until cancelled.
public protocol DeliverySignal: AnyObject, Sendable {
    /// Has `perform` called once, soon, on the target; never from inside this call. From any thread.
    func signal()

    /// Ends the deliveries and lets go of what was to be performed. On the target itself none comes after this returns;
    /// elsewhere one may be under way.
    func cancel()
}
