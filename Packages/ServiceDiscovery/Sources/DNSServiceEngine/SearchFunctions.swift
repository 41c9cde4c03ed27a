// The functions of dns_sd.h that search. Their documentation is in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import DNSServiceC
internal import DNSWire
internal import EventLoops
internal import Glibc
internal import HostResolver
internal import ServiceDiscovery

private let added = DNSServiceFlags(kDNSServiceFlagsAdd)

// MARK: Services and domains

/// Browses for services of a type, or of its first subtype.
@_cdecl("DNSServiceBrowse") @implementation
package func DNSServiceBrowse(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ regtype: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?, _ callBack: DNSServiceBrowseReply?,
    _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (client, domain) = (try Client(callBack, context), try DNSServiceEngine.domain(domain))
        if try isListOfTypes(regtype) { return try browseTypes(operation, client, domain ?? .local, place) }
        let type = try serviceType(regtype)
        let feed = try translating { () throws(ServiceDiscoveryError) in
            try ServiceBrowser(
                type, domain: domain, interface: place.interface, eachInterface: true, engine: place.engine
            ).start(isPatient: true)
        }
        try operation.begin(
            feed,
            browsing(operation.handle, client, place) { service in
                (service.name, "\(service.type).", service.domain.description)
            })
    }
}

/// Browses for the types of all services. As in Apple's library, the parts of a reply are those of the name of a type, as if it were a
/// service's: `_http`, `_tcp.local.` and `.`.
private func browseTypes(
    _ operation: NewOperation, _ client: Client<DNSServiceBrowseReply>, _ domain: ServiceDomain, _ place: Place
) throws(ServiceFailure) {
    let feed = try translating { () throws(ServiceDiscoveryError) in
        try ServiceTypeBrowser(domain: domain, interface: place.interface, engine: place.engine)
            .start(eachInterface: true, isPatient: true)
    }
    let labels = domain.name.labels
    let (first, rest) = (DNSName(labels: Array(labels.prefix(1))), DNSName(labels: Array(labels.dropFirst())))
    try operation.begin(
        feed,
        browsing(operation.handle, client, place) { type in
            (type.application, "\(type.transport.rawValue).\(first?.cText ?? "")", rest?.cText ?? ".")
        })
}

/// The replies of a browser. `parts` are the name, the type and the domain of a reply.
private func browsing<Value: Hashable & Sendable>(
    _ handle: Handle, _ client: Client<DNSServiceBrowseReply>, _ place: Place,
    _ parts: @escaping @Sendable (Value) -> (name: String, type: String, domain: String)
) -> FeedSource<DiscoveryChange<Value>>.Answer {
    { result in
        switch result {
        case .success(let change):
            let flags = change.kind == .found ? added : 0
            let (index, parts) = (place.replyIndex(change.interfaceIndex), parts(change.value))
            return { more in
                client.callback(
                    handle.reference, flags | more, index, 0, parts.name, parts.type, parts.domain, client.context)
            }
        case .failure(let error):
            let number = ServiceFailure(error).number
            return { more in
                client.callback(handle.reference, more, place.replyIndex(0), number, nil, nil, nil, client.context)
            }
        }
    }
}

/// Finds the domains in which to browse or to register.
@_cdecl("DNSServiceEnumerateDomains") @implementation
package func DNSServiceEnumerateDomains(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ callBack: DNSServiceDomainEnumReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (client, handle) = (try Client(callBack, context), operation.handle)
        let isBrowsing = flags.has(kDNSServiceFlagsBrowseDomains)
        guard isBrowsing != flags.has(kDNSServiceFlagsRegistrationDomains) else {
            throw ServiceFailure(kDNSServiceErr_BadFlags)
        }
        let feed = try translating { () throws(ServiceDiscoveryError) in
            try ServiceDomainBrowser(
                isBrowsing ? .browsing : .registration, interface: place.interface, engine: place.engine
            ).start()
        }
        try operation.begin(feed) { result in
            switch result {
            case .success(let change):
                let isDefault = change.value.isLocal ? DNSServiceFlags(kDNSServiceFlagsDefault) : 0
                let flags = change.kind == .found ? added | isDefault : 0
                let index = place.replyIndex(change.interfaceIndex)
                return { more in
                    client.callback(
                        handle.reference, flags | more, index, 0, change.value.description, client.context)
                }
            case .failure(let error):
                let number = ServiceFailure(error).number
                return { more in
                    client.callback(handle.reference, more, place.replyIndex(0), number, nil, client.context)
                }
            }
        }
    }
}

/// The location and the TXT record of a service on each interface.
private struct Locations: Sendable {
    struct Location: Hashable, Sendable {
        let interface: UInt32
        let host: DNSName
        let port: UInt16
        let text: [UInt8]
    }

    private var services: [UInt32: (host: DNSName, port: UInt16)] = [:]
    private var texts: [UInt32: [UInt8]] = [:]
    private var reported: [UInt32: Location] = [:]

    /// The location that has become known or has changed.
    mutating func receive(_ change: RecordChange) -> Location? {
        switch change {
        case .added(let record, let interface): return add(record.data, interface)
        case .removed(let record, let interface):
            if case .srv(_, _, let port, let host) = record.data,
                let known = services[interface], known == (host, port)
            {
                (services[interface], reported[interface]) = (nil, nil)
            }
            if record.type == .txt, texts[interface] == record.data.wireForm {
                (texts[interface], reported[interface]) = (nil, nil)
            }
            return nil
        // RFC 6763 §6.1: a service without a TXT record has the same meaning as one with an empty item.
        case .absent(.txt, let interface): return add(.txt([[]]), interface)
        case .absent: return nil
        }
    }

    private mutating func add(_ data: DNSRecordData, _ interface: UInt32) -> Location? {
        switch data {
        case .srv(_, _, let port, let host): services[interface] = (host, port)
        case .txt: texts[interface] = data.wireForm
        default: return nil
        }
        guard let (host, port) = services[interface], let text = texts[interface] else { return nil }
        let location = Location(interface: interface, host: host, port: port, text: text)
        guard reported[interface] != location else { return nil }
        reported[interface] = location
        return location
    }
}

/// Resolves a service that DNSServiceBrowse has reported, once for each interface and again after each change.
@_cdecl("DNSServiceResolve") @implementation
package func DNSServiceResolve(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ name: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
    _ callBack: DNSServiceResolveReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (client, handle) = (try Client(callBack, context), operation.handle)
        let (type, domain) = (try serviceType(regtype), try DNSServiceEngine.domain(domain) ?? .local)
        guard let name = try text(name) else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        let (fullName, feed) = try translating { () throws(ServiceDiscoveryError) in
            let fullName = try ServiceInstance(name: name, type: type, domain: domain).fullName
            let browser = RecordBrowser(
                fullName, types: [.srv, .txt], interface: place.interface, engine: place.engine)
            return (fullName, try browser.start())
        }
        let locations = Locked(Locations())
        try operation.begin(feed) { result in
            switch result {
            case .success(let change):
                guard let location = locations.withLock({ $0.receive(change) }) else { return nil }
                return { more in
                    client.callback(
                        handle.reference, more, place.replyIndex(location.interface), 0, fullName.cText,
                        location.host.cText, location.port.bigEndian, UInt16(location.text.count), location.text,
                        client.context)
                }
            case .failure(let error):
                let number = ServiceFailure(error).number
                return { more in
                    client.callback(
                        handle.reference, more, place.replyIndex(0), number, fullName.cText, nil, 0, 0, nil,
                        client.context)
                }
            }
        }
    }
}

// MARK: Records and addresses

/// Queries the records of a name: by multicast in `local`, otherwise of name servers.
@_cdecl("DNSServiceQueryRecord") @implementation
package func DNSServiceQueryRecord(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ fullname: UnsafePointer<CChar>?, _ rrtype: UInt16, _ rrclass: UInt16, _ callBack: DNSServiceQueryRecordReply?,
    _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (client, handle) = (try Client(callBack, context), operation.handle)
        let fullName = try name(fullname)
        try verifyClass(rrclass)
        guard rrtype != UInt16(kDNSServiceType_ANY) else { throw ServiceFailure(kDNSServiceErr_Unsupported) }
        let feed = try search(fullName, [DNSRecordType(rawValue: rrtype)], flags, place)
        let reply: @Sendable (DNSServiceFlags, UInt32, DNSServiceErrorType, DNSRecord?) -> Reply = {
            flags, index, number, record in
            { more in
                let data = record?.data.wireForm ?? []
                client.callback(
                    handle.reference, flags | more, place.replyIndex(index), number, (record?.name ?? fullName).cText,
                    rrtype, rrclass, UInt16(truncatingIfNeeded: data.count), data, record?.timeToLive ?? 0,
                    client.context)
            }
        }
        try operation.begin(feed, timeout: timeout(flags)) { result in
            switch result {
            case .success(.added(let record, let index)): reply(added, index, 0, record)
            case .success(.removed(let record, let index)): reply(0, index, 0, record.withTimeToLive(0))
            case .success(.absent(_, let index)):
                reply(added, index, DNSServiceErrorType(kDNSServiceErr_NoSuchRecord), nil)
            case .failure(let error): reply(0, 0, ServiceFailure(error).number, nil)
            }
        }
    }
}

/// Queries the addresses of a host, of the protocols or, without any, of both families.
@_cdecl("DNSServiceGetAddrInfo") @implementation
package func DNSServiceGetAddrInfo(
    _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32,
    _ protocol: DNSServiceProtocol, _ hostname: UnsafePointer<CChar>?, _ callBack: DNSServiceGetAddrInfoReply?,
    _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (operation, place) = (try NewOperation(sdRef, flags), try Place(interfaceIndex))
        let (client, handle) = (try Client(callBack, context), operation.handle)
        let host = try name(hostname)
        let (v4, v6) = (DNSServiceProtocol(kDNSServiceProtocol_IPv4), DNSServiceProtocol(kDNSServiceProtocol_IPv6))
        guard `protocol` & ~(v4 | v6) == 0 else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        let types: [DNSRecordType] =
            (`protocol` == v6 ? [] : [.a]) + (`protocol` == v4 ? [] : [.aaaa])
        let feed = try search(host, types, flags, place)
        let reply: @Sendable (DNSServiceFlags, UInt32, DNSServiceErrorType, DNSName, IPAddress, UInt32) -> Reply = {
            flags, index, number, name, address, timeToLive in
            { more in
                withSocketAddress(address, on: index) { address in
                    client.callback(
                        handle.reference, flags | more, place.replyIndex(index), number, name.cText, address,
                        timeToLive, client.context)
                }
            }
        }
        try operation.begin(feed, timeout: timeout(flags)) { result in
            switch result {
            case .success(.added(let record, let index)):
                return record.data.address.map { reply(added, index, 0, record.name, $0, record.timeToLive) }
            case .success(.removed(let record, let index)):
                return record.data.address.map { reply(0, index, 0, record.name, $0, 0) }
            case .success(.absent(let type, let index)):
                let number = DNSServiceErrorType(kDNSServiceErr_NoSuchRecord)
                return reply(added, index, number, host, noAddress(of: type), 0)
            case .failure(let error):
                return reply(0, 0, ServiceFailure(error).number, host, noAddress(of: types[0]), 0)
            }
        }
    }
}

private func search(
    _ name: DNSName, _ types: [DNSRecordType], _ flags: DNSServiceFlags, _ place: Place
) throws(ServiceFailure) -> DiscoveryFeed<RecordChange> {
    try translating { () throws(ServiceDiscoveryError) in
        try RecordBrowser(
            name, types: types, onLink: flags.has(kDNSServiceFlagsForceMulticast), interface: place.interface,
            engine: place.engine
        ).start()
    }
}

private func timeout(_ flags: DNSServiceFlags) -> Duration? {
    flags.has(kDNSServiceFlagsTimeout) ? ServiceEnvironment.current.timeout : nil
}

/// The address in a reply without one. It is not NULL: programs look at its family before they look at the error.
private func noAddress(of type: DNSRecordType) -> IPAddress {
    type == .a ? .v4(IPv4Address(0, 0, 0, 0)) : .v6(IPv6Address(rawValue: 0))
}

/// The address for the system's functions. A link-local one has its interface as scope.
private func withSocketAddress(
    _ address: IPAddress, on interface: UInt32, _ body: (UnsafePointer<sockaddr>) -> Void
) {
    func pass<Address>(_ address: Address) {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }
    switch address {
    case .v4(let address):
        var socketAddress = sockaddr_in()
        socketAddress.sin_family = sa_family_t(AF_INET)
        withUnsafeMutableBytes(of: &socketAddress.sin_addr) { $0.copyBytes(from: address.octets) }
        pass(socketAddress)
    case .v6(let address):
        var socketAddress = sockaddr_in6()
        socketAddress.sin6_family = sa_family_t(AF_INET6)
        withUnsafeMutableBytes(of: &socketAddress.sin6_addr) { $0.copyBytes(from: address.octets) }
        socketAddress.sin6_scope_id = address.isLinkLocal ? interface : 0
        pass(socketAddress)
    }
}

/// Reports that a record may be stale.
@_cdecl("DNSServiceReconfirmRecord") @implementation
package func DNSServiceReconfirmRecord(
    _ flags: DNSServiceFlags, _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?, _ rrtype: UInt16,
    _ rrclass: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?
) -> DNSServiceErrorType {
    result { () throws(ServiceFailure) in
        let (place, fullName) = (try Place(interfaceIndex), try name(fullname))
        try verifyClass(rrclass)
        let data = try recordData(rrtype, rdlen, rdata)
        try translating { () throws(ServiceDiscoveryError) in
            try RecordBrowser(fullName, types: [data.type], interface: place.interface, engine: place.engine)
                .reconfirm(data)
        }
    }
}
