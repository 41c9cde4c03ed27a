// The functions of CFRunLoop.h that take a mode, with the type that Swift has on Apple's systems.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation

/// Runs the run loop of the calling thread in a mode for a time, or until one source was handled.
@discardableResult
public func CFRunLoopRunInMode(
    _ mode: CFRunLoopMode!, _ seconds: CFTimeInterval, _ returnAfterSourceHandled: Bool
) -> CFRunLoopRunResult {
    CoreFoundation.CFRunLoopRunInMode(mode?.object, seconds, returnAfterSourceHandled)
}

/// The mode in which a run loop runs; nil if it does not.
public func CFRunLoopCopyCurrentMode(_ rl: CFRunLoop!) -> CFRunLoopMode! {
    CoreFoundation.CFRunLoopCopyCurrentMode(rl).map { CFRunLoopMode(bridge($0)) }
}

/// Adds a mode to the common modes of a run loop.
public func CFRunLoopAddCommonMode(_ rl: CFRunLoop!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopAddCommonMode(rl, mode?.object)
}

/// When the next timer of a mode fires; 0 if it has none.
public func CFRunLoopGetNextTimerFireDate(_ rl: CFRunLoop!, _ mode: CFRunLoopMode!) -> CFAbsoluteTime {
    CoreFoundation.CFRunLoopGetNextTimerFireDate(rl, mode?.object)
}

/// Whether a source is in a mode of a run loop.
public func CFRunLoopContainsSource(_ rl: CFRunLoop!, _ source: CFRunLoopSource!, _ mode: CFRunLoopMode!) -> Bool {
    CoreFoundation.CFRunLoopContainsSource(rl, source, mode?.object)
}

/// Adds a source to a mode of a run loop.
public func CFRunLoopAddSource(_ rl: CFRunLoop!, _ source: CFRunLoopSource!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopAddSource(rl, source, mode?.object)
}

/// Removes a source from a mode of a run loop.
public func CFRunLoopRemoveSource(_ rl: CFRunLoop!, _ source: CFRunLoopSource!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopRemoveSource(rl, source, mode?.object)
}

/// Whether an observer is in a mode of a run loop.
public func CFRunLoopContainsObserver(_ rl: CFRunLoop!, _ observer: CFRunLoopObserver!, _ mode: CFRunLoopMode!) -> Bool
{
    CoreFoundation.CFRunLoopContainsObserver(rl, observer, mode?.object)
}

/// Adds an observer to a mode of a run loop.
public func CFRunLoopAddObserver(_ rl: CFRunLoop!, _ observer: CFRunLoopObserver!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopAddObserver(rl, observer, mode?.object)
}

/// Removes an observer from a mode of a run loop.
public func CFRunLoopRemoveObserver(_ rl: CFRunLoop!, _ observer: CFRunLoopObserver!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopRemoveObserver(rl, observer, mode?.object)
}

/// Whether a timer is in a mode of a run loop.
public func CFRunLoopContainsTimer(_ rl: CFRunLoop!, _ timer: CFRunLoopTimer!, _ mode: CFRunLoopMode!) -> Bool {
    CoreFoundation.CFRunLoopContainsTimer(rl, timer, mode?.object)
}

/// Adds a timer to a mode of a run loop.
public func CFRunLoopAddTimer(_ rl: CFRunLoop!, _ timer: CFRunLoopTimer!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopAddTimer(rl, timer, mode?.object)
}

/// Removes a timer from a mode of a run loop.
public func CFRunLoopRemoveTimer(_ rl: CFRunLoop!, _ timer: CFRunLoopTimer!, _ mode: CFRunLoopMode!) {
    CoreFoundation.CFRunLoopRemoveTimer(rl, timer, mode?.object)
}
