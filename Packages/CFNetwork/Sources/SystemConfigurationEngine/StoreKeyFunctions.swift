// The functions of SCDynamicStoreKey.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkEngine
package import CoreFoundation
internal import SystemConfigurationC

/// A retained key with the given components.
private func key(_ components: () throws(Status) -> [String]) -> Unmanaged<CFString> {
    nullable(reporting(nil) { () throws(Status) in cfString(try components().joined(separator: "/")) })
}

@_cdecl("SCDynamicStoreKeyCreateNetworkGlobalEntity") @implementation
package func __SCDynamicStoreKeyCreateNetworkGlobalEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ entity: CFString
) -> Unmanaged<CFString> {
    key { () throws(Status) in [try text(required(domain)), "Network", "Global", try text(required(entity))] }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkInterface") @implementation
package func __SCDynamicStoreKeyCreateNetworkInterface(
    _ allocator: CFAllocator?, _ domain: CFString
) -> Unmanaged<CFString> {
    key { () throws(Status) in [try text(required(domain)), "Network", "Interface"] }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkInterfaceEntity") @implementation
package func __SCDynamicStoreKeyCreateNetworkInterfaceEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ ifname: CFString, _ entity: CFString?
) -> Unmanaged<CFString> {
    key { () throws(Status) in
        let interface = [try text(required(domain)), "Network", "Interface", try text(required(ifname))]
        return entity == nil ? interface : interface + [try text(entity)]
    }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkServiceEntity") @implementation
package func __SCDynamicStoreKeyCreateNetworkServiceEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ serviceID: CFString, _ entity: CFString?
) -> Unmanaged<CFString> {
    key { () throws(Status) in
        let service = [try text(required(domain)), "Network", "Service", try text(required(serviceID))]
        return entity == nil ? service : service + [try text(entity)]
    }
}

@_cdecl("SCDynamicStoreKeyCreateComputerName") @implementation
package func __SCDynamicStoreKeyCreateComputerName(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:", "System"] }
}

@_cdecl("SCDynamicStoreKeyCreateHostNames") @implementation
package func __SCDynamicStoreKeyCreateHostNames(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:", "Network", "HostNames"] }
}

@_cdecl("SCDynamicStoreKeyCreateLocation") @implementation
package func __SCDynamicStoreKeyCreateLocation(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:"] }
}

@_cdecl("SCDynamicStoreKeyCreateProxies") @implementation
package func __SCDynamicStoreKeyCreateProxies(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["State:", "Network", "Global", "Proxies"] }
}
