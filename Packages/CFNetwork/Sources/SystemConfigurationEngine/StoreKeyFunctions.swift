// The functions of SCDynamicStoreKey.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation

internal import CFNetworkEngine
public import CoreFoundation
internal import SystemConfigurationC

/// A retained key with the given components.
private func key(_ components: () throws(Status) -> [String]) -> Unmanaged<CFString> {
    nullable(reporting(nil) { () throws(Status) in cfString(try components().joined(separator: "/")) })
}

@_cdecl("SCDynamicStoreKeyCreateNetworkGlobalEntity") @implementation
public func __SCDynamicStoreKeyCreateNetworkGlobalEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ entity: CFString
) -> Unmanaged<CFString> {
    key { () throws(Status) in [try text(required(domain)), "Network", "Global", try text(required(entity))] }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkInterface") @implementation
public func __SCDynamicStoreKeyCreateNetworkInterface(
    _ allocator: CFAllocator?, _ domain: CFString
) -> Unmanaged<CFString> {
    key { () throws(Status) in [try text(required(domain)), "Network", "Interface"] }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkInterfaceEntity") @implementation
public func __SCDynamicStoreKeyCreateNetworkInterfaceEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ ifname: CFString, _ entity: CFString?
) -> Unmanaged<CFString> {
    key { () throws(Status) in
        let interface = [try text(required(domain)), "Network", "Interface", try text(required(ifname))]
        return entity == nil ? interface : interface + [try text(entity)]
    }
}

@_cdecl("SCDynamicStoreKeyCreateNetworkServiceEntity") @implementation
public func __SCDynamicStoreKeyCreateNetworkServiceEntity(
    _ allocator: CFAllocator?, _ domain: CFString, _ serviceID: CFString, _ entity: CFString?
) -> Unmanaged<CFString> {
    key { () throws(Status) in
        let service = [try text(required(domain)), "Network", "Service", try text(required(serviceID))]
        return entity == nil ? service : service + [try text(entity)]
    }
}

@_cdecl("SCDynamicStoreKeyCreateComputerName") @implementation
public func __SCDynamicStoreKeyCreateComputerName(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:", "System"] }
}

@_cdecl("SCDynamicStoreKeyCreateHostNames") @implementation
public func __SCDynamicStoreKeyCreateHostNames(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:", "Network", "HostNames"] }
}

@_cdecl("SCDynamicStoreKeyCreateLocation") @implementation
public func __SCDynamicStoreKeyCreateLocation(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["Setup:"] }
}

@_cdecl("SCDynamicStoreKeyCreateProxies") @implementation
public func __SCDynamicStoreKeyCreateProxies(_ allocator: CFAllocator?) -> Unmanaged<CFString> {
    key { ["State:", "Network", "Global", "Proxies"] }
}
