// The functions of dns_sd.h that publish. Their documentation is in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import DNSServiceC
internal import DNSWire
internal import EventLoops
internal import ServiceDiscovery

/// Registers a service.
@_cdecl("DNSServiceRegister") @implementation
package func DNSServiceRegister(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ name: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
    _ host: UnsafePointer<CChar>?, _ port: UInt16, _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?,
    _ callBack: DNSServiceRegisterReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (type, handle) = (try serviceType(regtype, registers: true), operation.handle)
        var service = ServiceAdvertisement(
            name: try text(name) ?? ComputerName.current, type: type, domain: try DNSServiceEngine.domain(domain),
            port: UInt16(bigEndian: port), record: try textRecord(txtRecord, txtLen))
        service.renamesOnConflict = !flags.has(kDNSServiceFlagsNoAutoRename)
        service.interface = place.interface
        service.host = try text(host) == nil ? nil : try DNSServiceEngine.name(host)
        let client = callBack == nil ? nil : try Client(callBack, context)
        let reply: @Sendable (DNSServiceFlags, DNSServiceErrorType, String, ServiceDomain) -> Reply = {
            flags, number, name, domain in
            { more in
                client?.callback(
                    handle.reference, flags | more, number, name, "\(type.base).", domain.description, client?.context)
            }
        }
        let answer: FeedSource<ServiceInstance>.Answer = { [service] result in
            switch result {
            case .success(let instance):
                reply(DNSServiceFlags(kDNSServiceFlagsAdd), 0, instance.name, instance.domain)
            case .failure(let error):
                reply(0, ServiceFailure(error).number, service.name, service.domain ?? .local)
            }
        }
        let publisher: ServicePublisher
        do throws(ServiceDiscoveryError) {
            publisher = try ServicePublisher(service, engine: place.engine)
        } catch {
            guard error.code == .collision, let taken = answer(.failure(error)) else { throw ServiceFailure(error) }
            // A name that this process has is reported as one that another host has.
            return try operation.fail(taken)
        }
        try operation.begin(publisher.names, publishing: ServiceRegistration(publisher), answer)
    }
}

// MARK: Records

/// A record of a service or of its own; a time to live of 0 is the usual one.
private func ownRecord(
    _ type: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?, _ ttl: UInt32
) throws(ServiceFailure) -> OwnRecord {
    OwnRecord(try recordData(type, rdlen, rdata), timeToLive: ttl == 0 ? nil : ttl)
}

/// Adds a record to the name of a registered service.
@_cdecl("DNSServiceAddRecord") @implementation
package func DNSServiceAddRecord(
    _ sdRef: DNSServiceRef?, _ RecordRef: UnsafeMutablePointer<DNSRecordRef?>?, _ flags: DNSServiceFlags,
    _ rrtype: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?, _ ttl: UInt32
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let reference = try ServiceReferences.find(sdRef)
        guard let service = reference.registration else { throw ServiceFailure(kDNSServiceErr_BadReference) }
        guard let RecordRef else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        let (record, handle) = (try ownRecord(rrtype, rdlen, rdata, ttl), ServiceReferences.makeHandle())
        try translating { () throws(ServiceDiscoveryError) in try service.set(record, as: handle) }
        try ServiceReferences.insert(
            ServiceRecord(owner: reference.handle, type: rrtype, place: .service(service)), as: handle)
        RecordRef.pointee = DNSRecordRef(bitPattern: handle)
    }
}

/// Replaces the data of a record that was added or registered, or, without one (NULL), the TXT record of a service.
@_cdecl("DNSServiceUpdateRecord") @implementation
package func DNSServiceUpdateRecord(
    _ sdRef: DNSServiceRef?, _ RecordRef: DNSRecordRef?, _ flags: DNSServiceFlags, _ rdlen: UInt16,
    _ rdata: UnsafeRawPointer?, _ ttl: UInt32
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let reference = try ServiceReferences.find(sdRef)
        guard let RecordRef else {
            guard let service = reference.registration else { throw ServiceFailure(kDNSServiceErr_BadReference) }
            let record = try textRecord(rdata, rdlen)
            return try translating { () throws(ServiceDiscoveryError) in try service.publisher.update(record) }
        }
        let known = try ServiceReferences.find(RecordRef, of: reference)
        let new = try ownRecord(known.type, rdlen, rdata, ttl)
        try translating { () throws(ServiceDiscoveryError) in
            switch known.place {
            case .service(let service): try service.set(new, as: Handle(bitPattern: RecordRef))
            case .alone(let publisher, _): try publisher.update(new)
            }
        }
    }
}

/// Withdraws a record that was added or registered.
@_cdecl("DNSServiceRemoveRecord") @implementation
package func DNSServiceRemoveRecord(
    _ sdRef: DNSServiceRef?, _ RecordRef: DNSRecordRef?, _ flags: DNSServiceFlags
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let reference = try ServiceReferences.find(sdRef)
        guard let RecordRef else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        switch try ServiceReferences.find(RecordRef, of: reference).place {
        case .service(let service):
            try translating { () throws(ServiceDiscoveryError) in
                try service.set(nil, as: Handle(bitPattern: RecordRef))
            }
        case .alone(_, let operation): reference.replies.remove(operation)
        }
        ServiceReferences.removeRecord(RecordRef)
    }
}

/// Registers a record of any name in `local`, on a connection of DNSServiceCreateConnection.
@_cdecl("DNSServiceRegisterRecord") @implementation
package func DNSServiceRegisterRecord(
    _ sdRef: DNSServiceRef?, _ RecordRef: UnsafeMutablePointer<DNSRecordRef?>?, _ flags: DNSServiceFlags,
    _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?, _ rrtype: UInt16, _ rrclass: UInt16, _ rdlen: UInt16,
    _ rdata: UnsafeRawPointer?, _ ttl: UInt32, _ callBack: DNSServiceRegisterRecordReply?,
    _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (reference, place) = (try ServiceReferences.find(sdRef), try Place(interfaceIndex))
        guard case .connection = reference.work else { throw ServiceFailure(kDNSServiceErr_BadReference) }
        guard let RecordRef else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        let client = try Client(callBack, context)
        let isUnique = flags.has(kDNSServiceFlagsUnique) || flags.has(kDNSServiceFlagsKnownUnique)
        guard isUnique != flags.has(kDNSServiceFlagsShared) else { throw ServiceFailure(kDNSServiceErr_BadFlags) }
        try verifyClass(rrclass)
        let advertisement = RecordAdvertisement(
            name: try name(fullname), record: try ownRecord(rrtype, rdlen, rdata, ttl), isUnique: isUnique,
            interface: place.interface)
        let publisher = try translating { () throws(ServiceDiscoveryError) in
            try RecordPublisher(advertisement, engine: place.engine)
        }
        let (handle, connection) = (ServiceReferences.makeHandle(), reference.handle)
        let source = FeedSource(publisher.announcements) { result in
            var number: DNSServiceErrorType = 0
            if case .failure(let error) = result { number = ServiceFailure(error).number }
            return { [number] more in
                client.callback(connection.reference, DNSRecordRef(bitPattern: handle), more, number, client.context)
            }
        }
        let operation = reference.replies.add(source)
        do throws(ServiceFailure) {
            try ServiceReferences.insert(
                ServiceRecord(owner: connection, type: rrtype, place: .alone(publisher, operation)), as: handle)
        } catch {
            reference.replies.remove(operation)
            throw error
        }
        RecordRef.pointee = DNSRecordRef(bitPattern: handle)
        source.begin { [weak replies = reference.replies] in replies?.refill(operation) }
    }
}
