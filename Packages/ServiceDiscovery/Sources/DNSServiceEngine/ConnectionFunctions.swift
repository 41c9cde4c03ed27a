// The functions of dns_sd.h for references. Their documentation is in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import DNSServiceC
package import DNSServiceC.Runtime
internal import DNSWire
@_spi(Packages) package import EventLoops
internal import ServiceDiscovery

/// Copies a property.
@_cdecl("DNSServiceGetProperty") @implementation
package func DNSServiceGetProperty(
    _ property: UnsafePointer<CChar>?, _ result: UnsafeMutableRawPointer?, _ size: UnsafeMutablePointer<UInt32>?
) -> DNSServiceErrorType {
    DNSServiceEngine.result { () throws(ServiceFailure) in
        guard let name = try text(property), let result, let size else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        guard name == kDNSServiceProperty_DaemonVersion else { throw ServiceFailure(kDNSServiceErr_Unsupported) }
        let version = UInt32(_DNS_SD_H)
        guard size.pointee >= MemoryLayout.size(ofValue: version) else { throw ServiceFailure(kDNSServiceErr_NoMemory) }
        result.storeBytes(of: version, as: UInt32.self)
        size.pointee = UInt32(MemoryLayout.size(ofValue: version))
    }
}

/// A reference with a descriptor.
private func connection(_ handle: DNSServiceRef?) throws(ServiceFailure) -> ServiceReference {
    let reference = try ServiceReferences.find(handle)
    guard reference.owner == nil else { throw ServiceFailure(kDNSServiceErr_BadReference) }
    return reference
}

/// The descriptor that is readable exactly while a reply waits.
@_cdecl("DNSServiceRefSockFD") @implementation
package func DNSServiceRefSockFD(_ sdRef: DNSServiceRef?) -> CInt {
    do throws(ServiceFailure) {
        return try connection(sdRef).replies.descriptor
    } catch {
        return -1
    }
}

/// Makes the replies that wait, at most 64. Waits while there is none, and while another thread is in a reply of the reference.
@_cdecl("DNSServiceProcessResult") @implementation
package func DNSServiceProcessResult(_ sdRef: DNSServiceRef?) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in try connection(sdRef).replies.process() }
}

/// Ends an operation, or a connection with its operations.
@_cdecl("DNSServiceRefDeallocate") @implementation
package func DNSServiceRefDeallocate(_ sdRef: DNSServiceRef?) {
    // In a forked process, the operation is that of the other one.
    if let sdRef, dnss_process_is_own() != 0 { ServiceReferences.remove(Handle(bitPattern: sdRef)) }
}

/// Creates a connection that operations share with kDNSServiceFlagsShareConnection.
@_cdecl("DNSServiceCreateConnection") @implementation
package func DNSServiceCreateConnection(_ sdRef: UnsafeMutablePointer<DNSServiceRef?>?) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        guard let sdRef else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        sdRef.pointee = DNSServiceRef(bitPattern: try ServiceReferences.addConnection().handle)
    }
}

/// Sets the queue of a reference; nil removes it.
@_cdecl("dnss_set_queue") @implementation
package func dnss_set_queue(_ service: DNSServiceRef?, _ queue: UnsafeMutableRawPointer?) -> DNSServiceErrorType {
    setQueue(of: service, to: queue.map { CQueueTarget($0) })
}

/// Sets where the replies of a reference are made; nil for DNSServiceProcessResult.
package func setQueue(of service: DNSServiceRef?, to target: (any DeliveryTarget)?) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in try connection(service).replies.setQueue(target) }
}

// MARK: Names

/// Joins the parts of a name to a full name with escapes, in a buffer of kDNSServiceMaxDomainName bytes.
@_cdecl("DNSServiceConstructFullName") @implementation
package func DNSServiceConstructFullName(
    _ fullName: UnsafeMutablePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?,
    _ domain: UnsafePointer<CChar>?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let type = try serviceType(regtype).base
        guard let fullName, let domain = try DNSServiceEngine.domain(domain) else {
            throw ServiceFailure(kDNSServiceErr_BadParam)
        }
        let name: DNSName?
        if let service = try text(service) {
            name = try translating { () throws(ServiceDiscoveryError) in
                try ServiceInstance(name: service, type: type, domain: domain).fullName
            }
        } else {
            name = DNSName(
                labels: [type.application, type.transport.rawValue].map { Array($0.utf8) } + domain.name.labels)
        }
        guard let name else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        // At most four bytes for each byte of the name, which has at most 255.
        for (index, byte) in name.cText.utf8CString.enumerated() { fullName[index] = byte }
    }
}

// MARK: What is not supported

/// Would map a port of the router.
@_cdecl("DNSServiceNATPortMappingCreate") @implementation
package func DNSServiceNATPortMappingCreate(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ protocol: DNSServiceProtocol, _ internalPort: UInt16, _ externalPort: UInt16, _ ttl: UInt32,
    _ callBack: DNSServiceNATPortMappingReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType { DNSServiceErrorType(kDNSServiceErr_Unsupported) }

/// Would let a sleep proxy keep a TCP connection.
@_cdecl("DNSServiceSleepKeepalive") @implementation
package func DNSServiceSleepKeepalive(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ fd: CInt, _ timeout: CUnsignedInt,
    _ callBack: DNSServiceSleepKeepaliveReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType { DNSServiceErrorType(kDNSServiceErr_Unsupported) }
