// The functions of CFHost.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
package import CFNetworkC.Runtime
package import CoreFoundation
internal import HostResolver
internal import StreamKit

/// The type identifier of hosts.
@_cdecl("CFHostGetTypeID") @implementation
package func CFHostGetTypeID() -> CFTypeID { HostState.typeID }

private func state(of host: CFHost) -> HostState { state(of: host, as: HostState.self) }

@_cdecl("CFHostCreateWithName") @implementation
package func __CFHostCreateWithName(_ allocator: CFAllocator?, _ hostname: CFString) -> Unmanaged<CFHost> {
    nullable(HostState.makeHost(allocator, HostLookup(name: string(hostname))))
}

@_cdecl("CFHostCreateWithAddress") @implementation
package func __CFHostCreateWithAddress(_ allocator: CFAllocator?, _ addr: CFData) -> Unmanaged<CFHost> {
    nullable((try? HostLookup(sockaddr: bytes(addr))).flatMap { HostState.makeHost(allocator, $0) })
}

/// Creates a host with all information that another one has.
@_cdecl("CFHostCreateCopy") @implementation
package func CFHostCreateCopy(_ alloc: CFAllocator?, _ host: CFHost) -> Unmanaged<CFHost> {
    nullable(HostState.makeHost(alloc, state(of: host).lookup.copy()))
}

/// Looks up one kind of information.
@_cdecl("CFHostStartInfoResolution") @implementation
package func CFHostStartInfoResolution(
    _ theHost: CFHost, _ info: CFHostInfoType, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    let state = state(of: theHost)
    guard let kind = HostLookup.Kind(rawValue: Int(info.rawValue)) else {
        error?.pointee = CFStreamError(.posix, code: 22)  // EINVAL
        return false
    }
    do throws(ResolverError) {
        if state.hasClient { try state.lookup.start(kind) } else { try state.lookup.resolve(kind) }
        return true
    } catch let failure {
        error?.pointee = failure.streamError
        return false
    }
}

@_cdecl("CFHostGetAddressing") @implementation
package func __CFHostGetAddressing(
    _ theHost: CFHost, _ hasBeenResolved: UnsafeMutablePointer<Bool>?
) -> Unmanaged<CFArray>? {
    state(of: theHost).addressing(hasBeenResolved)
}

@_cdecl("CFHostGetNames") @implementation
package func __CFHostGetNames(
    _ theHost: CFHost, _ hasBeenResolved: UnsafeMutablePointer<Bool>?
) -> Unmanaged<CFArray>? {
    state(of: theHost).nameList(hasBeenResolved)
}

@_cdecl("CFHostGetReachability") @implementation
package func __CFHostGetReachability(
    _ theHost: CFHost, _ hasBeenResolved: UnsafeMutablePointer<Bool>?
) -> Unmanaged<CFData>? {
    state(of: theHost).reachabilityData(hasBeenResolved)
}

/// Ends the lookup of a kind.
@_cdecl("CFHostCancelInfoResolution") @implementation
package func CFHostCancelInfoResolution(_ theHost: CFHost, _ info: CFHostInfoType) {
    if let kind = HostLookup.Kind(rawValue: Int(info.rawValue)) { state(of: theHost).lookup.cancel(kind) }
}

/// Sets the client.
@_cdecl("CFHostSetClient") @implementation
package func CFHostSetClient(
    _ theHost: CFHost, _ clientCB: CFHostClientCallBack?, _ clientContext: UnsafeMutablePointer<CFHostClientContext>?
) -> Bool {
    let client = clientCB.map { callback in
        let context = clientContext?.pointee ?? CFHostClientContext()
        let info = ClientInfo(context.info, retain: context.retain, release: context.release)
        return HostState.Client(callback: callback, info: info)
    }
    state(of: theHost).setClient(client)
    return true
}

@_cdecl("CFHostScheduleWithRunLoop") @implementation
package func __CFHostScheduleWithRunLoop(_ theHost: CFHost, _ runLoop: CFRunLoop, _ runLoopMode: CFString) {
    state(of: theHost).lookup.schedule(on: runLoopTarget(runLoop, runLoopMode))
}

@_cdecl("CFHostUnscheduleFromRunLoop") @implementation
package func __CFHostUnscheduleFromRunLoop(_ theHost: CFHost, _ runLoop: CFRunLoop, _ runLoopMode: CFString) {
    state(of: theHost).lookup.unschedule(from: runLoopTarget(runLoop, runLoopMode))
}

/// The states of a pair to a host in its present state; no states for a port that is 0 or above 65535.
@_cdecl("cfn_pair_with_cfhost") @implementation
package func cfn_pair_with_cfhost(_ host: CFHost, _ port: Int32) -> CFNPair {
    guard let port = UInt16(exactly: port), port > 0 else { return makePair(nil) }
    return makePair(StreamPair(host: state(of: host).lookup, port: port))
}
