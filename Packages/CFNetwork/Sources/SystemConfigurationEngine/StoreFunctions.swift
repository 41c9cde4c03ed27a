// The functions of SCDynamicStore.h and SCDynamicStoreCopySpecific.h. Their names and documentation are in the headers.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
package import CoreFoundation
@_spi(Packages) package import EventLoops
internal import ServiceDiscovery
internal import StreamKit
package import SystemConfigurationC
package import SystemConfigurationC.Runtime

/// The type identifier of sessions.
@_cdecl("SCDynamicStoreGetTypeID") @implementation
package func SCDynamicStoreGetTypeID() -> CFTypeID { StoreContent.typeID }

private func session(_ store: SCDynamicStore?) throws(Status) -> StoreContent {
    try content(store, StoreContent.typeID, orNull: .noSession)
}

/// Verifies the session of a function that accepts NULL.
private func verify(_ store: SCDynamicStore?) throws(Status) {
    if store != nil { _ = try session(store) }
}

@_cdecl("SCDynamicStoreCreate") @implementation
package func __SCDynamicStoreCreate(
    _ allocator: CFAllocator?, _ name: CFString?, _ callout: SCDynamicStoreCallBack?,
    _ context: UnsafeMutablePointer<SCDynamicStoreContext>?
) -> Unmanaged<SCDynamicStore>? {
    reporting(nil) { () throws(Status) in
        let client = StoreContent.Client(
            callback: callout, context: ClientContext(context?.pointee ?? SCDynamicStoreContext()))
        guard let store = StoreContent.makeStore(allocator, try text(name), client) else { throw .failed }
        return store
    }
}

@_cdecl("SCDynamicStoreCreateWithOptions") @implementation
package func __SCDynamicStoreCreateWithOptions(
    _ allocator: CFAllocator?, _ name: CFString?, _ storeOptions: CFDictionary?, _ callout: SCDynamicStoreCallBack?,
    _ context: UnsafeMutablePointer<SCDynamicStoreContext>?
) -> Unmanaged<SCDynamicStore>? {
    // No option has an effect: sessions have no keys of their own.
    if let storeOptions, CFGetTypeID(storeOptions) != CFDictionaryGetTypeID() {
        return reporting(nil) { () throws(Status) in throw .invalidArgument }
    }
    return __SCDynamicStoreCreate(allocator, name, callout, context)
}

@_cdecl("SCDynamicStoreCreateRunLoopSource") @implementation
package func __SCDynamicStoreCreateRunLoopSource(
    _ allocator: CFAllocator?, _ store: SCDynamicStore?, _ order: CFIndex
) -> Unmanaged<CFRunLoopSource>? {
    reporting(nil) { () throws(Status) in try session(store).source(allocator, order: order) }
}

/// Sets the queue of a session; null removes it.
@_cdecl("scn_store_set_queue") @implementation
package func scn_store_set_queue(_ store: SCDynamicStore?, _ queue: UnsafeMutableRawPointer?) -> Bool {
    setQueue(of: store, to: queue.map { CQueueTarget($0) })
}

/// Sets where a session calls its callback; nil ends the calls.
package func setQueue(of store: SCDynamicStore?, to target: (any DeliveryTarget)?) -> Bool {
    reporting(false) { () throws(Status) in
        try session(store).setQueue(target)
        return true
    }
}

@_cdecl("SCDynamicStoreCopyKeyList") @implementation
package func __SCDynamicStoreCopyKeyList(_ store: SCDynamicStore?, _ pattern: CFString?) -> Unmanaged<CFArray>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        let selection = try KeySelection(patterns: [text(pattern)])
        return cfArray(try StoreSnapshot.values(of: selection).keys.sorted().map { cfString($0) })
    }
}

@_cdecl("SCDynamicStoreCopyValue") @implementation
package func __SCDynamicStoreCopyValue(_ store: SCDynamicStore?, _ key: CFString?) -> Unmanaged<CFPropertyList>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        let key = try text(key)
        guard let value = try StoreSnapshot.values(of: KeySelection(keys: [key]))[key] else { throw .noKey }
        return value.cfObject
    }
}

@_cdecl("SCDynamicStoreCopyMultiple") @implementation
package func __SCDynamicStoreCopyMultiple(
    _ store: SCDynamicStore?, _ keys: CFArray?, _ patterns: CFArray?
) -> Unmanaged<CFDictionary>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        let selection = try KeySelection(keys: texts(keys), patterns: texts(patterns))
        return StoreValue.cfDictionary(try StoreSnapshot.values(of: selection))
    }
}

@_cdecl("SCDynamicStoreSetNotificationKeys") @implementation
package func __SCDynamicStoreSetNotificationKeys(
    _ store: SCDynamicStore?, _ keys: CFArray?, _ patterns: CFArray?
) -> Bool {
    reporting(false) { () throws(Status) in
        let session = try session(store)
        try session.select(try KeySelection(keys: texts(keys), patterns: texts(patterns)))
        return true
    }
}

@_cdecl("SCDynamicStoreCopyNotifiedKeys") @implementation
package func __SCDynamicStoreCopyNotifiedKeys(_ store: SCDynamicStore?) -> Unmanaged<CFArray>? {
    reporting(nil) { () throws(Status) in cfArray(try session(store).takeChanged().map { cfString($0) }) }
}

// MARK: Writing

/// Refuses a change, after the arguments have been verified.
private func refuse(_ store: SCDynamicStore?, _ verifyArguments: () throws(Status) -> Void) -> Bool {
    reporting(false) { () throws(Status) in
        try verify(store)
        try verifyArguments()
        throw .accessError
    }
}

/// Refuses to set a value.
private func refuse(_ store: SCDynamicStore?, _ key: CFString?, _ value: CFPropertyList?) -> Bool {
    refuse(store) { () throws(Status) in
        _ = try text(key)
        try verifyPropertyList(value)
    }
}

@_cdecl("SCDynamicStoreAddValue") @implementation
package func __SCDynamicStoreAddValue(_ store: SCDynamicStore?, _ key: CFString?, _ value: CFPropertyList?) -> Bool {
    refuse(store, key, value)
}

@_cdecl("SCDynamicStoreAddTemporaryValue") @implementation
package func __SCDynamicStoreAddTemporaryValue(
    _ store: SCDynamicStore?, _ key: CFString?, _ value: CFPropertyList?
) -> Bool {
    refuse(store, key, value)
}

@_cdecl("SCDynamicStoreSetValue") @implementation
package func __SCDynamicStoreSetValue(_ store: SCDynamicStore?, _ key: CFString?, _ value: CFPropertyList?) -> Bool {
    refuse(store, key, value)
}

@_cdecl("SCDynamicStoreSetMultiple") @implementation
package func __SCDynamicStoreSetMultiple(
    _ store: SCDynamicStore?, _ keysToSet: CFDictionary?, _ keysToRemove: CFArray?, _ keysToNotify: CFArray?
) -> Bool {
    refuse(store) { () throws(Status) in
        if let keysToSet, CFGetTypeID(keysToSet) != CFDictionaryGetTypeID() { throw .invalidArgument }
        _ = (try texts(keysToRemove), try texts(keysToNotify))
    }
}

@_cdecl("SCDynamicStoreRemoveValue") @implementation
package func __SCDynamicStoreRemoveValue(_ store: SCDynamicStore?, _ key: CFString?) -> Bool {
    refuse(store) { () throws(Status) in _ = try text(key) }
}

@_cdecl("SCDynamicStoreNotifyValue") @implementation
package func __SCDynamicStoreNotifyValue(_ store: SCDynamicStore?, _ key: CFString?) -> Bool {
    refuse(store) { () throws(Status) in _ = try text(key) }
}

// MARK: Single values

@_cdecl("SCDynamicStoreCopyComputerName") @implementation
package func __SCDynamicStoreCopyComputerName(
    _ store: SCDynamicStore?, _ nameEncoding: UnsafeMutablePointer<CFStringEncoding>?
) -> Unmanaged<CFString>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        nameEncoding?.pointee = CFStringEncoding(StoreSnapshot.encoding)
        return cfString(ComputerName.current)
    }
}

@_cdecl("SCDynamicStoreCopyLocalHostName") @implementation
package func __SCDynamicStoreCopyLocalHostName(_ store: SCDynamicStore?) -> Unmanaged<CFString>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        return cfString(LocalHostName.current)
    }
}

@_cdecl("SCDynamicStoreCopyLocation") @implementation
package func __SCDynamicStoreCopyLocation(_ store: SCDynamicStore?) -> Unmanaged<CFString>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        throw .noKey
    }
}

@_cdecl("SCDynamicStoreCopyProxies") @implementation
package func __SCDynamicStoreCopyProxies(_ store: SCDynamicStore?) -> Unmanaged<CFDictionary>? {
    reporting(nil) { () throws(Status) in
        try verify(store)
        do throws(StreamError) {
            return try StoreSnapshot.currentProxies().cfDictionary
        } catch {
            throw .failed
        }
    }
}
