// The functions of CFNetServices.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
package import CFNetworkC.Runtime
package import CoreFoundation
internal import Foundation
internal import NetKit
internal import ServiceDiscovery
internal import StreamKit

private func state(of service: CFNetService) -> NetServiceState { state(of: service, as: NetServiceState.self) }

/// Runs an operation. Returns whether it has started, or has succeeded.
private func run(
    _ error: UnsafeMutablePointer<CFStreamError>?, _ body: () throws(ServiceFailure) -> Void
) -> Bool {
    do throws(ServiceFailure) {
        try body()
        return true
    } catch let failure {
        error?.pointee = failure.streamError
        return false
    }
}

private func clientInfo(_ context: UnsafeMutablePointer<CFNetServiceClientContext>?) -> ClientInfo {
    let context = context?.pointee ?? CFNetServiceClientContext()
    return ClientInfo(context.info, retain: context.retain, release: context.release)
}

/// The type identifier of services.
@_cdecl("CFNetServiceGetTypeID") @implementation
package func CFNetServiceGetTypeID() -> CFTypeID { NetServiceState.typeID }

/// The type identifier of monitors.
@_cdecl("CFNetServiceMonitorGetTypeID") @implementation
package func CFNetServiceMonitorGetTypeID() -> CFTypeID { NetServiceMonitorState.typeID }

/// The type identifier of browsers.
@_cdecl("CFNetServiceBrowserGetTypeID") @implementation
package func CFNetServiceBrowserGetTypeID() -> CFTypeID { NetServiceBrowserState.typeID }

@_cdecl("CFNetServiceCreate") @implementation
package func __CFNetServiceCreate(
    _ alloc: CFAllocator?, _ domain: CFString, _ serviceType: CFString, _ name: CFString, _ port: Int32
) -> Unmanaged<CFNetService> {
    let facts = NetServiceState.Facts(name: string(name), port: port)
    return nullable(
        NetServiceState.makeService(alloc, domain: string(domain), type: string(serviceType), facts))
}

/// Creates a service with everything that is known of another one.
@_cdecl("CFNetServiceCreateCopy") @implementation
package func CFNetServiceCreateCopy(_ alloc: CFAllocator?, _ service: CFNetService) -> Unmanaged<CFNetService> {
    let state = state(of: service)
    return nullable(NetServiceState.makeService(alloc, domain: state.domain, type: state.type, state.facts))
}

@_cdecl("CFNetServiceGetDomain") @implementation
package func __CFNetServiceGetDomain(_ theService: CFNetService) -> Unmanaged<CFString> {
    .passUnretained(state(of: theService).domainObject)
}

@_cdecl("CFNetServiceGetType") @implementation
package func __CFNetServiceGetType(_ theService: CFNetService) -> Unmanaged<CFString> {
    .passUnretained(state(of: theService).typeObject)
}

@_cdecl("CFNetServiceGetName") @implementation
package func __CFNetServiceGetName(_ theService: CFNetService) -> Unmanaged<CFString> {
    state(of: theService).nameObject()
}

/// Registers a service.
@_cdecl("CFNetServiceRegisterWithOptions") @implementation
package func CFNetServiceRegisterWithOptions(
    _ theService: CFNetService, _ options: CFOptionFlags, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    let noRename = CFNetServiceRegisterFlags.noAutoRename.rawValue
    return run(error) { () throws(ServiceFailure) in
        guard options & ~noRename == 0 else { throw ServiceFailure(ServiceDiscoveryError(.badArgument)) }
        try state(of: theService).register(renames: options & noRename == 0)
    }
}

/// Registers a service without options.
@_cdecl("CFNetServiceRegister") @implementation
package func CFNetServiceRegister(
    _ theService: CFNetService, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    CFNetServiceRegisterWithOptions(theService, 0, error)
}

/// Resolves a service.
@_cdecl("CFNetServiceResolveWithTimeout") @implementation
package func CFNetServiceResolveWithTimeout(
    _ theService: CFNetService, _ timeout: CFTimeInterval, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    run(error) { () throws(ServiceFailure) in try state(of: theService).resolve(within: timeout) }
}

/// Resolves a service without a timeout.
@_cdecl("CFNetServiceResolve") @implementation
package func CFNetServiceResolve(_ theService: CFNetService, _ error: UnsafeMutablePointer<CFStreamError>?) -> Bool {
    CFNetServiceResolveWithTimeout(theService, 0, error)
}

/// Ends registering or resolving.
@_cdecl("CFNetServiceCancel") @implementation
package func CFNetServiceCancel(_ theService: CFNetService) { state(of: theService).cancel() }

@_cdecl("CFNetServiceGetTargetHost") @implementation
package func __CFNetServiceGetTargetHost(_ theService: CFNetService) -> Unmanaged<CFString>? {
    state(of: theService).hostNameObject()
}

/// The port of a service.
@_cdecl("CFNetServiceGetPortNumber") @implementation
package func CFNetServiceGetPortNumber(_ theService: CFNetService) -> Int32 { state(of: theService).facts.port }

@_cdecl("CFNetServiceGetAddressing") @implementation
package func __CFNetServiceGetAddressing(_ theService: CFNetService) -> Unmanaged<CFArray>? {
    state(of: theService).addressObjects()
}

@_cdecl("CFNetServiceGetTXTData") @implementation
package func __CFNetServiceGetTXTData(_ theService: CFNetService) -> Unmanaged<CFData>? {
    state(of: theService).recordObject()
}

@_cdecl("CFNetServiceSetTXTData") @implementation
package func __CFNetServiceSetTXTData(_ theService: CFNetService, _ txtRecord: CFData) -> Bool {
    state(of: theService).setRecord(bytes(txtRecord))
}

@_cdecl("CFNetServiceCreateDictionaryWithTXTData") @implementation
package func __CFNetServiceCreateDictionaryWithTXTData(
    _ alloc: CFAllocator?, _ txtRecord: CFData
) -> Unmanaged<CFDictionary>? {
    let bytes = bytes(txtRecord)
    var end = 0
    while end < bytes.count { end += 1 + Int(bytes[end]) }
    guard end == bytes.count else { return nil }
    let dictionary = cfn_dictionary_create().takeRetainedValue()
    for entry in TXTRecord(wire: bytes).entries { dictionary.set(entry.key, cfData(entry.value ?? [])) }
    return dictionary.retained
}

@_cdecl("CFNetServiceCreateTXTDataWithDictionary") @implementation
package func __CFNetServiceCreateTXTDataWithDictionary(
    _ alloc: CFAllocator?, _ keyValuePairs: CFDictionary
) -> Unmanaged<CFData>? {
    var pairs: [String: [UInt8]?] = [:]
    for (key, value) in nsDictionary(keyValuePairs) {
        guard let key = key as? String else { return nil }
        switch value {
        case let data as Data: pairs[key] = .some([UInt8](data))
        case let text as String: pairs[key] = .some(Array(text.utf8))
        case is NSNull: pairs[key] = .some(nil)
        default: return nil
        }
    }
    return (try? TXTRecord(dictionary: pairs)).map { cfData($0.wireForm) }
}

/// Sets the client of a service.
@_cdecl("CFNetServiceSetClient") @implementation
package func CFNetServiceSetClient(
    _ theService: CFNetService, _ clientCB: CFNetServiceClientCallBack?,
    _ clientContext: UnsafeMutablePointer<CFNetServiceClientContext>?
) -> Bool {
    let client = clientCB.map { NetServiceState.Client(callback: $0, info: clientInfo(clientContext)) }
    state(of: theService).setClient(client)
    return true
}

@_cdecl("CFNetServiceScheduleWithRunLoop") @implementation
package func __CFNetServiceScheduleWithRunLoop(
    _ theService: CFNetService, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: theService).schedule(on: runLoopTarget(runLoop, runLoopMode))
}

@_cdecl("CFNetServiceUnscheduleFromRunLoop") @implementation
package func __CFNetServiceUnscheduleFromRunLoop(
    _ theService: CFNetService, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: theService).unschedule(from: runLoopTarget(runLoop, runLoopMode))
}

// Monitors.

private func state(of monitor: CFNetServiceMonitor) -> NetServiceMonitorState {
    state(of: monitor, as: NetServiceMonitorState.self)
}

/// Creates a monitor.
@_cdecl("CFNetServiceMonitorCreate") @implementation
package func CFNetServiceMonitorCreate(
    _ alloc: CFAllocator?, _ theService: CFNetService, _ clientCB: @escaping CFNetServiceMonitorClientCallBack,
    _ clientContext: UnsafeMutablePointer<CFNetServiceClientContext>
) -> Unmanaged<CFNetServiceMonitor> {
    nullable(NetServiceMonitorState.makeMonitor(alloc, theService, clientCB, clientInfo(clientContext)))
}

/// Ends a monitor for good.
@_cdecl("CFNetServiceMonitorInvalidate") @implementation
package func CFNetServiceMonitorInvalidate(_ monitor: CFNetServiceMonitor) { state(of: monitor).invalidate() }

/// Starts monitoring.
@_cdecl("CFNetServiceMonitorStart") @implementation
package func CFNetServiceMonitorStart(
    _ monitor: CFNetServiceMonitor, _ recordType: CFNetServiceMonitorType,
    _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    run(error) { () throws(ServiceFailure) in try state(of: monitor).start(recordType.rawValue) }
}

/// Ends monitoring.
@_cdecl("CFNetServiceMonitorStop") @implementation
package func CFNetServiceMonitorStop(_ monitor: CFNetServiceMonitor, _ error: UnsafeMutablePointer<CFStreamError>?) {
    state(of: monitor).operation?.stop(error.map { ServiceFailure($0.pointee) } ?? .cancelled)
}

@_cdecl("CFNetServiceMonitorScheduleWithRunLoop") @implementation
package func __CFNetServiceMonitorScheduleWithRunLoop(
    _ monitor: CFNetServiceMonitor, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: monitor).operation?.schedule(on: runLoopTarget(runLoop, runLoopMode))
}

@_cdecl("CFNetServiceMonitorUnscheduleFromRunLoop") @implementation
package func __CFNetServiceMonitorUnscheduleFromRunLoop(
    _ monitor: CFNetServiceMonitor, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: monitor).operation?.unschedule(from: runLoopTarget(runLoop, runLoopMode))
}

// Browsers.

private func state(of browser: CFNetServiceBrowser) -> NetServiceBrowserState {
    state(of: browser, as: NetServiceBrowserState.self)
}

/// Creates a browser.
@_cdecl("CFNetServiceBrowserCreate") @implementation
package func CFNetServiceBrowserCreate(
    _ alloc: CFAllocator?, _ clientCB: @escaping CFNetServiceBrowserClientCallBack,
    _ clientContext: UnsafeMutablePointer<CFNetServiceClientContext>
) -> Unmanaged<CFNetServiceBrowser> {
    nullable(NetServiceBrowserState.makeBrowser(alloc, clientCB, clientInfo(clientContext)))
}

/// Ends a browser for good.
@_cdecl("CFNetServiceBrowserInvalidate") @implementation
package func CFNetServiceBrowserInvalidate(_ browser: CFNetServiceBrowser) { state(of: browser).invalidate() }

/// Searches for domains.
@_cdecl("CFNetServiceBrowserSearchForDomains") @implementation
package func CFNetServiceBrowserSearchForDomains(
    _ browser: CFNetServiceBrowser, _ registrationDomains: Bool, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    run(error) { () throws(ServiceFailure) in
        try state(of: browser).searchForDomains(registration: registrationDomains)
    }
}

@_cdecl("CFNetServiceBrowserSearchForServices") @implementation
package func __CFNetServiceBrowserSearchForServices(
    _ browser: CFNetServiceBrowser, _ domain: CFString, _ serviceType: CFString,
    _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    run(error) { () throws(ServiceFailure) in
        try state(of: browser).searchForServices(domain: string(domain), type: string(serviceType))
    }
}

/// Ends the search.
@_cdecl("CFNetServiceBrowserStopSearch") @implementation
package func CFNetServiceBrowserStopSearch(
    _ browser: CFNetServiceBrowser, _ error: UnsafeMutablePointer<CFStreamError>?
) {
    state(of: browser).operation?.stop(error.map { ServiceFailure($0.pointee) } ?? .cancelled)
}

@_cdecl("CFNetServiceBrowserScheduleWithRunLoop") @implementation
package func __CFNetServiceBrowserScheduleWithRunLoop(
    _ browser: CFNetServiceBrowser, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: browser).operation?.schedule(on: runLoopTarget(runLoop, runLoopMode))
}

@_cdecl("CFNetServiceBrowserUnscheduleFromRunLoop") @implementation
package func __CFNetServiceBrowserUnscheduleFromRunLoop(
    _ browser: CFNetServiceBrowser, _ runLoop: CFRunLoop, _ runLoopMode: CFString
) {
    state(of: browser).operation?.unschedule(from: runLoopTarget(runLoop, runLoopMode))
}

@_cdecl("CFNetServiceGetProtocolSpecificInformation") @implementation
package func __CFNetServiceGetProtocolSpecificInformation(_ theService: CFNetService) -> Unmanaged<CFString>? {
    state(of: theService).informationObject()
}

@_cdecl("CFNetServiceSetProtocolSpecificInformation") @implementation
package func __CFNetServiceSetProtocolSpecificInformation(_ theService: CFNetService, _ theInfo: CFString) {
    let strings = string(theInfo).utf8.split(separator: 1).map(Array.init)
    _ = state(of: theService).setRecord(TXTRecord(strings: strings).wireForm)
}

/// The states of a pair to a service; no states for a name or type that no service has.
@_cdecl("cfn_pair_with_service") @implementation
package func cfn_pair_with_service(_ service: CFNetService) -> CFNPair {
    let state = state(of: service)
    guard let instance = try? state.instance() else { return makePair(nil) }
    let pair = StreamPair(service: instance)
    let remote = RemoteService(name: state.facts.name, type: state.type, domain: state.domain)
    // A note of our own, which every stream keeps.
    try? pair.set(.remoteService, to: remote)
    return makePair(pair)
}
