internal import CredentialStores
internal import Glibc
internal import SecurityC

/// The attributes of an internet password under the codes of SecKeychainItem.h.
enum KeychainAttributes {
    /// Puts the attributes of a list into others. An empty text removes the attribute.
    ///
    /// - Throws: `noSuchAttribute` for one that has another code or is read only, `parameter` for an invalid value.
    static func apply(
        _ list: UnsafePointer<SecKeychainAttributeList>?, to attributes: inout PasswordAttributes
    ) throws(Status) {
        guard let list = list?.pointee, list.count > 0 else { return }
        guard let first = list.attr else { throw .parameter }
        for attribute in UnsafeBufferPointer(start: first, count: Int(list.count)) {
            guard let code = SecItemAttr(rawValue: attribute.tag) else { throw .noSuchAttribute }
            func value() throws(Status) -> String? { try text(attribute.data, attribute.length) }
            switch code {
            case .labelItemAttr: attributes.label = try value()
            case .accountItemAttr: attributes.user = try value()
            case .securityDomainItemAttr: attributes.realm = try value()
            case .serverItemAttr: attributes.server = PasswordAttributes(server: try value()).server
            case .pathItemAttr: attributes.path = try value()
            case .portItemAttr: attributes.port = try port(attribute)
            case .protocolItemAttr:
                attributes.scheme = try KeychainCodes.protocols.name(of: number(attribute))
            case .authenticationTypeItemAttr:
                attributes.authenticationType = try KeychainCodes.authenticationTypes.name(of: number(attribute))
            case .creationDateItemAttr, .modDateItemAttr: throw .noSuchAttribute
            @unknown default: throw .noSuchAttribute
            }
        }
    }

    /// The memory with the values of a list's attributes, in their order, each with its length; nil for an attribute that the entry lacks.
    ///
    /// - Throws: `noSuchAttribute` for one that has another code. Nothing is allocated then.
    static func values(
        of list: SecKeychainAttributeList, in entry: PasswordEntry
    ) throws(Status) -> [[UInt8]?] {
        guard list.count > 0 else { return [] }
        guard let first = list.attr else { throw .parameter }
        var values: [[UInt8]?] = []
        for attribute in UnsafeBufferPointer(start: first, count: Int(list.count)) {
            guard let code = SecItemAttr(rawValue: attribute.tag) else { throw .noSuchAttribute }
            values.append(try value(code, of: entry))
        }
        return values
    }

    private static func value(_ code: SecItemAttr, of entry: PasswordEntry) throws(Status) -> [UInt8]? {
        let attributes = entry.attributes
        func bytes(_ number: UInt32) -> [UInt8]? { number == 0 ? nil : withUnsafeBytes(of: number) { Array($0) } }
        func bytes(_ text: String?) -> [UInt8]? { text.flatMap { $0.isEmpty ? nil : Array($0.utf8) } }
        return switch code {
        case .labelItemAttr: bytes(attributes.label)
        case .accountItemAttr: bytes(attributes.user)
        case .securityDomainItemAttr: bytes(attributes.realm)
        case .serverItemAttr: bytes(attributes.server)
        case .pathItemAttr: bytes(attributes.path)
        case .portItemAttr: bytes(UInt32(clamping: attributes.port ?? 0))
        case .protocolItemAttr: bytes(KeychainCodes.protocols.code(of: attributes.scheme))
        case .authenticationTypeItemAttr:
            bytes(KeychainCodes.authenticationTypes.code(of: attributes.authenticationType))
        case .creationDateItemAttr: date(entry.created)
        case .modDateItemAttr: date(entry.modified)
        @unknown default: throw .noSuchAttribute
        }
    }

    /// `20260131235959Z`.
    private static func date(_ seconds: Int64) -> [UInt8] {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return [] }
        return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            count = strftime(buffer.baseAddress, buffer.count, "%Y%m%d%H%M%SZ", &parts)
        }
    }

    private static func number(_ attribute: SecKeychainAttribute) throws(Status) -> UInt32 {
        guard let data = attribute.data, attribute.length == 4 else { throw .parameter }
        return data.loadUnaligned(as: UInt32.self)
    }

    private static func port(_ attribute: SecKeychainAttribute) throws(Status) -> Int? {
        guard let data = attribute.data else { throw .parameter }
        let port: Int
        switch attribute.length {
        case 2: port = Int(data.loadUnaligned(as: UInt16.self))
        case 4: port = Int(data.loadUnaligned(as: UInt32.self))
        default: throw .parameter
        }
        guard port <= UInt16.max else { throw .parameter }
        return port == 0 ? nil : port
    }
}
