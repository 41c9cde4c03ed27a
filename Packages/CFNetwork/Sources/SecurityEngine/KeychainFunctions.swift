// The functions of SecKeychain.h, SecKeychainItem.h and SecKeychainSearch.h. Their names and documentation are in the headers.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkEngine
package import CoreFoundation
internal import CredentialStores
package import SecurityC

/// The attributes that a function has as arguments.
private func attributes(
    _ server: (UnsafePointer<CChar>?, UInt32), _ realm: (UnsafePointer<CChar>?, UInt32),
    _ user: (UnsafePointer<CChar>?, UInt32), _ path: (UnsafePointer<CChar>?, UInt32), _ port: UInt16,
    _ protocolType: SecProtocolType, _ authenticationType: SecAuthenticationType
) throws(Status) -> PasswordAttributes {
    PasswordAttributes(
        server: try text(server.0, server.1),
        scheme: try KeychainCodes.protocols.name(of: protocolType.rawValue), port: port == 0 ? nil : Int(port),
        realm: try text(realm.0, realm.1), user: try text(user.0, user.1), path: try text(path.0, path.1),
        authenticationType: try KeychainCodes.authenticationTypes.name(of: authenticationType.rawValue))
}

/// Implements the function of `<Security/SecKeychain.h>`.
@_cdecl("SecKeychainAddInternetPassword") @implementation
package func SecKeychainAddInternetPassword(
    _ keychain: SecKeychain?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ `protocol`: SecProtocolType, _ authenticationType: SecAuthenticationType, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(Status) in
        if keychain != nil { throw .invalidKeychain }
        let attributes = try attributes(
            (serverName, serverNameLength), (securityDomain, securityDomainLength), (accountName, accountNameLength),
            (path, pathLength), port, `protocol`, authenticationType)
        guard attributes.server != nil, attributes.user != nil else { throw .parameter }
        let item = try add(attributes, try password(passwordData, passwordLength))
        give(item, to: itemRef)
    }
}

/// Adds an item to the keychain.
func add(_ attributes: PasswordAttributes, _ password: Secret) throws(Status) -> SecKeychainItem {
    let store = try Keychain.storeForWriting()
    let entry = try stored { () throws(HTTPAuthError) in try store.add(password, attributes) }
    return try KeychainItem.make(store, entry)
}

/// Implements the function of `<Security/SecKeychain.h>`.
@_cdecl("SecKeychainFindInternetPassword") @implementation
package func SecKeychainFindInternetPassword(
    _ keychainOrArray: CFTypeRef?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ `protocol`: SecProtocolType, _ authenticationType: SecAuthenticationType,
    _ passwordLength: UnsafeMutablePointer<UInt32>?,
    _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(Status) in
        if keychainOrArray != nil { throw .invalidKeychain }
        let search = try attributes(
            (serverName, serverNameLength), (securityDomain, securityDomainLength), (accountName, accountNameLength),
            (path, pathLength), port, `protocol`, authenticationType)
        try withEach(items(search), limit: 1) { item throws(Status) in
            if passwordData != nil || passwordLength != nil {
                try give(KeychainItem.of(item).password(), to: passwordData, length: passwordLength)
            }
            give(item, to: itemRef)
        }
    }
}

/// Writes a password to where a program in C wants it.
private func give(
    _ password: Secret, to data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, length: UnsafeMutablePointer<UInt32>?
) throws(Status) {
    if let data { data.pointee = try password.withBytes { bytes throws(Status) in try copy(bytes) } }
    length?.pointee = UInt32(clamping: password.count)
}

/// The type identifier of items.
@_cdecl("SecKeychainItemGetTypeID") @implementation
package func SecKeychainItemGetTypeID() -> CFTypeID { KeychainItem.typeID }

/// Implements the function of `<Security/SecKeychainItem.h>`.
@_cdecl("SecKeychainItemModifyContent") @implementation
package func SecKeychainItemModifyContent(
    _ itemRef: SecKeychainItem?, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    status { () throws(Status) in
        let item = try KeychainItem.of(itemRef)
        let password = data == nil && length == 0 ? nil : try password(data, length)
        try item.current()
        try item.change(password) { attributes throws(Status) in
            try KeychainAttributes.apply(attrList, to: &attributes)
            if attributes.server == nil || attributes.user == nil { throw .parameter }
        }
    }
}

/// Implements the function of `<Security/SecKeychainItem.h>`.
@_cdecl("SecKeychainItemCopyContent") @implementation
package func SecKeychainItemCopyContent(
    _ itemRef: SecKeychainItem?, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    status { () throws(Status) in
        let item = try KeychainItem.of(itemRef)
        let entry = try item.current()
        let values = try attrList.map { list throws(Status) in
            try KeychainAttributes.values(of: list.pointee, in: entry)
        }
        if length != nil || outData != nil { try give(item.password(), to: outData, length: length) }
        for (index, value) in (values ?? []).enumerated() {
            let attribute = attrList?.pointee.attr?.advanced(by: index)
            attribute?.pointee.length = UInt32(clamping: value?.count ?? 0)
            attribute?.pointee.data = value.flatMap { value in value.withUnsafeBytes { try? copy($0) } }
        }
        itemClass?.pointee = .internetPasswordItemClass
    }
}

/// Implements the function of `<Security/SecKeychainItem.h>`.
@_cdecl("SecKeychainItemFreeContent") @implementation
package func SecKeychainItemFreeContent(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    if let list = attrList?.pointee, let first = list.attr {
        for attribute in UnsafeMutableBufferPointer(start: first, count: Int(list.count)) { release(attribute.data) }
        for index in 0..<Int(list.count) {
            first[index].data = nil
            first[index].length = 0
        }
    }
    release(data)
    return 0
}

/// Implements the function of `<Security/SecKeychainItem.h>`.
@_cdecl("SecKeychainItemDelete") @implementation
package func SecKeychainItemDelete(_ itemRef: SecKeychainItem?) -> OSStatus {
    status { () throws(Status) in
        let item = try KeychainItem.of(itemRef)
        try item.current()
        try item.delete()
    }
}

/// The type identifier of searches.
@_cdecl("SecKeychainSearchGetTypeID") @implementation
package func SecKeychainSearchGetTypeID() -> CFTypeID { KeychainSearch.typeID }

/// Implements the function of `<Security/SecKeychainSearch.h>`.
@_cdecl("SecKeychainSearchCreateFromAttributes") @implementation
package func SecKeychainSearchCreateFromAttributes(
    _ keychainOrArray: CFTypeRef?, _ itemClass: SecItemClass, _ attrList: UnsafePointer<SecKeychainAttributeList>?,
    _ searchRef: UnsafeMutablePointer<SecKeychainSearch?>?
) -> OSStatus {
    status { () throws(Status) in
        guard let searchRef else { throw .parameter }
        if keychainOrArray != nil { throw .invalidKeychain }
        guard itemClass == .internetPasswordItemClass else { throw .noSuchClass }
        var search = PasswordAttributes()
        try KeychainAttributes.apply(attrList, to: &search)
        let object: Unmanaged<SecKeychainSearch>? = makeObject(nil, KeychainSearch.typeID, try KeychainSearch(search))
        guard let object else { throw .memory }
        give(object.takeRetainedValue(), to: searchRef)
    }
}

/// Implements the function of `<Security/SecKeychainSearch.h>`.
@_cdecl("SecKeychainSearchCopyNext") @implementation
package func SecKeychainSearchCopyNext(
    _ searchRef: SecKeychainSearch?, _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(Status) in
        let search: KeychainSearch = try content(searchRef, KeychainSearch.typeID, otherwise: .invalidSearch)
        guard let itemRef else { throw .parameter }
        give(try search.next(), to: itemRef)
    }
}
