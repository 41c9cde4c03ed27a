// The functions with a callback or a context, whose types a Swift program sees with Foundation's classes, and those with a queue.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import Dispatch
internal import EventLoops
public import Foundation
public import SystemConfigurationC
internal import SystemConfigurationEngine

/// The function that is called after changes: the session, the keys that have changed, and the context's pointer. It may be a
/// closure with captures.
public typealias SCDynamicStoreCallBack = (SCDynamicStore, NSArray, UnsafeMutableRawPointer?) -> Void

/// The function that is called after a change: the target, its flags, and the context's pointer. It may be a closure with captures.
public typealias SCNetworkReachabilityCallBack = (
    SCNetworkReachability, SCNetworkReachabilityFlags, UnsafeMutableRawPointer?
) -> Void

/// The pointer that is passed to the callback of a session, with the functions that retain, release and describe it. They may be called on
/// any thread. If the library is looking for changes when the program releases the session, it releases the pointer when it has finished,
/// soon after and on a thread of its own.
public struct SCDynamicStoreContext {
    /// The version, which is 0.
    public var version: CFIndex
    /// The pointer.
    public var info: UnsafeMutableRawPointer?
    /// Retains the pointer and returns it.
    public var retain: ((UnsafeRawPointer) -> UnsafeRawPointer)?
    /// Releases the pointer.
    public var release: ((UnsafeRawPointer) -> Void)?
    /// The text for the pointer in the description of the session, with a reference.
    public var copyDescription: ((UnsafeRawPointer) -> Unmanaged<NSString>)?

    /// Creates a context.
    public init(
        version: CFIndex, info: UnsafeMutableRawPointer?, retain: ((UnsafeRawPointer) -> UnsafeRawPointer)?,
        release: ((UnsafeRawPointer) -> Void)?, copyDescription: ((UnsafeRawPointer) -> Unmanaged<NSString>)?
    ) {
        self.version = version
        self.info = info
        self.retain = retain
        self.release = release
        self.copyDescription = copyDescription
    }

    /// Creates a context without a pointer.
    public init() { self.init(version: 0, info: nil, retain: nil, release: nil, copyDescription: nil) }
}

/// The pointer that is passed to the callback of a target, with the functions that retain, release and describe it. They are called as those of
/// ``SCDynamicStoreContext``.
public typealias SCNetworkReachabilityContext = SCDynamicStoreContext

/// Creates a session with the name of the program, and retains the context's pointer until the session is deallocated, or soon after: see
/// SCDynamicStoreContext. The callback may be NULL for a session that only reads. Returns NULL, with kSCStatusInvalidArgument unless the name is a string,
/// and with kSCStatusFailed without memory.
public func SCDynamicStoreCreate(
    _ allocator: CFAllocator?, _ name: NSString?, _ callout: SCDynamicStoreCallBack?,
    _ context: UnsafeMutablePointer<SCDynamicStoreContext>?
) -> SCDynamicStore? {
    let box = ClientBox(callout, context?.pointee ?? SCDynamicStoreContext())
    var own = SystemConfigurationC.SCDynamicStoreContext(
        version: 0, info: Unmanaged.passUnretained(box).toOpaque(), retain: DescribedClient.retain,
        release: DescribedClient.release, copyDescription: DescribedClient.copyDescription)
    let deliver: SystemConfigurationC.SCDynamicStoreCallBack = { store, keys, info in
        guard let info else { return }
        let box = Unmanaged<ClientBox<SCDynamicStoreCallBack>>.fromOpaque(info).takeUnretainedValue()
        box.callback?(store, bridge(keys), box.info)
    }
    return withExtendedLifetime(box) {
        SystemConfigurationC.__SCDynamicStoreCreate(
            allocator, name.map { bridge($0) }, callout == nil ? nil : deliver, &own)?.takeRetainedValue()
    }
}

/// Creates a session as SCDynamicStoreCreate does. The options, a dictionary or NULL (kSCDynamicStoreUseSessionKeys), have no effect; an object of
/// another type is refused with kSCStatusInvalidArgument.
public func SCDynamicStoreCreateWithOptions(
    _ allocator: CFAllocator?, _ name: NSString?, _ storeOptions: NSDictionary?, _ callout: SCDynamicStoreCallBack?,
    _ context: UnsafeMutablePointer<SCDynamicStoreContext>?
) -> SCDynamicStore? {
    SCDynamicStoreCreate(allocator, name, callout, context)
}

/// Sets the callback; NULL removes it. Retains the context's pointer, and releases it when the callback is replaced or removed, or the
/// target is deallocated, or soon after: see SCNetworkReachabilityContext. Returns FALSE with kSCStatusInvalidArgument for another object.
@discardableResult
public func SCNetworkReachabilitySetCallback(
    _ target: SCNetworkReachability?, _ callout: SCNetworkReachabilityCallBack?,
    _ context: UnsafeMutablePointer<SCNetworkReachabilityContext>?
) -> Bool {
    guard let callout else { return SystemConfigurationC.__SCNetworkReachabilitySetCallback(target, nil, nil) }
    let box = ClientBox(callout, context?.pointee ?? SCNetworkReachabilityContext())
    var own = SystemConfigurationC.SCNetworkReachabilityContext(
        version: 0, info: Unmanaged.passUnretained(box).toOpaque(), retain: DescribedClient.retain,
        release: DescribedClient.release, copyDescription: DescribedClient.copyDescription)
    return withExtendedLifetime(box) {
        SystemConfigurationC.__SCNetworkReachabilitySetCallback(
            target,
            { target, flags, info in
                guard let info else { return }
                let box = Unmanaged<ClientBox<SCNetworkReachabilityCallBack>>.fromOpaque(info).takeUnretainedValue()
                box.callback?(target, flags, box.info)
            }, &own)
    }
}

/// Calls the session's callback on a dispatch queue; NULL ends the calls. On that queue, none follows when the function has returned. Returns
/// FALSE with kSCStatusNotifierActive if the session has another queue, or a source of a run loop.
@discardableResult
public func SCDynamicStoreSetDispatchQueue(_ store: SCDynamicStore?, _ queue: DispatchQueue?) -> Bool {
    setQueue(of: store, to: queue.map { QueueTarget($0) })
}

/// Calls the callback on a dispatch queue; NULL ends the calls. Returns FALSE, and changes nothing: with kSCStatusInvalidArgument for another
/// object, and if the target has another queue or is scheduled on a run loop; with kSCStatusFailed without a descriptor.
@discardableResult
public func SCNetworkReachabilitySetDispatchQueue(_ target: SCNetworkReachability?, _ queue: DispatchQueue?) -> Bool {
    setQueue(of: target, to: queue.map { QueueTarget($0) })
}

/// A Swift closure behind a function in C, and the program's context.
private final class ClientBox<Callback>: DescribedClient {
    let callback: Callback?

    init(_ callback: Callback?, _ context: SCDynamicStoreContext) {
        self.callback = callback
        super.init(context)
    }
}

/// The context of a client.
private class DescribedClient {
    private let context: SCDynamicStoreContext
    let info: UnsafeMutableRawPointer?

    init(_ context: SCDynamicStoreContext) {
        self.context = context
        info = context.info.map { info in
            context.retain.map { UnsafeMutableRawPointer(mutating: $0(info)) } ?? info
        }
    }

    deinit {
        if let info { context.release?(info) }
    }

    static let retain: @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer = { info in
        UnsafeRawPointer(Unmanaged<DescribedClient>.fromOpaque(info).retain().toOpaque())
    }

    static let release: @convention(c) (UnsafeRawPointer) -> Void = { info in
        Unmanaged<DescribedClient>.fromOpaque(info).release()
    }

    static let copyDescription: @convention(c) (UnsafeRawPointer) -> Unmanaged<CoreFoundation.CFString> = { info in
        let client = Unmanaged<DescribedClient>.fromOpaque(info).takeUnretainedValue()
        let text = client.info.flatMap { info in client.context.copyDescription?(info) }
        return .passRetained(bridge(text?.takeRetainedValue() ?? "" as NSString))
    }
}
