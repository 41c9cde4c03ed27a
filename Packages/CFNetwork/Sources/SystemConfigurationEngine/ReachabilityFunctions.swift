// The functions of SCNetworkReachability.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkEngine
package import CoreFoundation
@_spi(Packages) package import EventLoops
internal import Glibc
@_spi(Packages) internal import HostResolver
internal import RunLoopDelivery
package import SystemConfigurationC
package import SystemConfigurationC.Runtime

/// The type identifier of targets.
@_cdecl("SCNetworkReachabilityGetTypeID") @implementation
package func SCNetworkReachabilityGetTypeID() -> CFTypeID { ReachabilityContent.typeID }

private func content(of target: SCNetworkReachability?) throws(Status) -> ReachabilityContent {
    try content(target, ReachabilityContent.typeID)
}

/// The IP address of a sockaddr; nil for NULL.
private func address(_ pointer: UnsafePointer<sockaddr>?) throws(Status) -> IPAddress? {
    guard let pointer else { return nil }
    guard let address = SocketAddress(ip: pointer)?.ipAddress else { throw .invalidArgument }
    return address
}

private func makeTarget(
    _ allocator: CFAllocator?, _ target: ReachabilityTarget
) throws(Status) -> Unmanaged<SCNetworkReachability>? {
    guard let object = ReachabilityContent.makeTarget(allocator, target) else { throw .failed }
    return object
}

@_cdecl("SCNetworkReachabilityCreateWithAddress") @implementation
package func __SCNetworkReachabilityCreateWithAddress(
    _ allocator: CFAllocator?, _ address: UnsafePointer<sockaddr>?
) -> Unmanaged<SCNetworkReachability>? {
    __SCNetworkReachabilityCreateWithAddressPair(allocator, nil, address)
}

@_cdecl("SCNetworkReachabilityCreateWithAddressPair") @implementation
package func __SCNetworkReachabilityCreateWithAddressPair(
    _ allocator: CFAllocator?, _ localAddress: UnsafePointer<sockaddr>?, _ remoteAddress: UnsafePointer<sockaddr>?
) -> Unmanaged<SCNetworkReachability>? {
    reporting(nil) { () throws(Status) in
        let (local, remote) = (try address(localAddress), try address(remoteAddress))
        if local == nil, remote == nil { throw .invalidArgument }
        return try makeTarget(allocator, .addresses(local: local, remote: remote))
    }
}

@_cdecl("SCNetworkReachabilityCreateWithName") @implementation
package func __SCNetworkReachabilityCreateWithName(
    _ allocator: CFAllocator?, _ nodename: UnsafePointer<CChar>?
) -> Unmanaged<SCNetworkReachability>? {
    reporting(nil) { () throws(Status) in
        guard let nodename, nodename.pointee != 0 else { throw .invalidArgument }
        let name = String(cString: nodename)
        // The text of an address needs no lookup.
        let address = (try? HostName(name))?.address
        return try makeTarget(allocator, address.map { .addresses(local: nil, remote: $0) } ?? .name(name))
    }
}

@_cdecl("SCNetworkReachabilityGetFlags") @implementation
package func __SCNetworkReachabilityGetFlags(
    _ target: SCNetworkReachability?, _ flags: UnsafeMutablePointer<SCNetworkReachabilityFlags>?
) -> Bool {
    reporting(false) { () throws(Status) in
        let content = try content(of: target)
        guard let flags else { throw .invalidArgument }
        flags.pointee = SCNetworkReachabilityFlags(rawValue: try content.flags().rawValue)
        return true
    }
}

@_cdecl("SCNetworkReachabilitySetCallback") @implementation
package func __SCNetworkReachabilitySetCallback(
    _ target: SCNetworkReachability?, _ callout: SCNetworkReachabilityCallBack?,
    _ context: UnsafeMutablePointer<SCNetworkReachabilityContext>?
) -> Bool {
    reporting(false) { () throws(Status) in
        let content = try content(of: target)
        let client = callout.map { callback in
            ReachabilityContent.Client(
                callback: callback, context: ClientContext(context?.pointee ?? SCNetworkReachabilityContext()))
        }
        content.setClient(client)
        return true
    }
}

/// Calls `body` with the run loop and mode of a function in C.
private func withRunLoop(
    _ target: SCNetworkReachability?, _ loop: CFRunLoop?, _ mode: CFString?,
    _ body: (ReachabilityContent, any DeliveryTarget) throws(Status) -> Void
) -> Bool {
    reporting(false) { () throws(Status) in
        let content = try content(of: target)
        guard let loop, CFGetTypeID(loop) == CFRunLoopGetTypeID(), let mode else { throw .invalidArgument }
        _ = try text(mode)
        try body(content, runLoopTarget(loop, mode))
        return true
    }
}

@_cdecl("SCNetworkReachabilityScheduleWithRunLoop") @implementation
package func __SCNetworkReachabilityScheduleWithRunLoop(
    _ target: SCNetworkReachability?, _ runLoop: CFRunLoop?, _ runLoopMode: CFString?
) -> Bool {
    withRunLoop(target, runLoop, runLoopMode) { (content, loop) throws(Status) in try content.schedule(on: loop) }
}

@_cdecl("SCNetworkReachabilityUnscheduleFromRunLoop") @implementation
package func __SCNetworkReachabilityUnscheduleFromRunLoop(
    _ target: SCNetworkReachability?, _ runLoop: CFRunLoop?, _ runLoopMode: CFString?
) -> Bool {
    withRunLoop(target, runLoop, runLoopMode) { (content, loop) throws(Status) in try content.unschedule(from: loop) }
}

/// Sets the queue of a target; null removes it.
@_cdecl("scn_reachability_set_queue") @implementation
package func scn_reachability_set_queue(_ target: SCNetworkReachability?, _ queue: UnsafeMutableRawPointer?) -> Bool {
    setQueue(of: target, to: queue.map { CQueueTarget($0) })
}

/// Sets where a target calls its callback; nil ends the calls.
package func setQueue(of target: SCNetworkReachability?, to queue: (any DeliveryTarget)?) -> Bool {
    reporting(false) { () throws(Status) in
        try content(of: target).setQueue(queue)
        return true
    }
}
