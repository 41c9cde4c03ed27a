// The functions of SecItem.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
package import CoreFoundation
internal import CredentialStores
internal import SecurityC

@_cdecl("SecItemAdd") @implementation
package func __SecItemAdd(_ attributes: CFDictionary?, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(Status) in
        let query = try ItemQuery(attributes, for: .adding)
        guard query.attributes.server?.isEmpty == false, query.attributes.user?.isEmpty == false else {
            throw .parameter
        }
        let item = try add(query.attributes, query.password ?? Secret(""))
        if let value = try value(of: item, query) { give(value, to: result) }
    }
}

@_cdecl("SecItemCopyMatching") @implementation
package func __SecItemCopyMatching(_ query: CFDictionary?, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(Status) in
        let query = try ItemQuery(query, for: .matching)
        var values: [Unmanaged<AnyObject>] = []
        defer { for value in values { value.release() } }
        try withEach(try items(query), limit: query.limit ?? 1) { item throws(Status) in
            if let value = try value(of: item, query) { values.append(.passRetained(value)) }
        }
        guard let first = values.first else { return }
        guard query.limit != nil else { return give(first.takeUnretainedValue(), to: result) }
        give(cfArray(values).takeRetainedValue(), to: result)
        values = []
    }
}

@_cdecl("SecItemUpdate") @implementation
package func __SecItemUpdate(_ query: CFDictionary?, _ attributesToUpdate: CFDictionary?) -> OSStatus {
    status { () throws(Status) in
        let changes = try ItemQuery(attributesToUpdate, for: .changing)
        try withEach(items(ItemQuery(query, for: .selecting))) { item throws(Status) in
            try KeychainItem.of(item).change(changes.password) { attributes throws(Status) in
                changes.apply(to: &attributes)
                if attributes.server?.isEmpty != false || attributes.user?.isEmpty != false { throw .parameter }
            }
        }
    }
}

@_cdecl("SecItemDelete") @implementation
package func __SecItemDelete(_ query: CFDictionary?) -> OSStatus {
    status { () throws(Status) in
        try withEach(items(ItemQuery(query, for: .selecting))) { item throws(Status) in
            try KeychainItem.of(item).delete()
        }
    }
}

/// The items that match, the best match first.
///
/// - Throws: `itemNotFound` if there are none.
private func items(_ query: ItemQuery) throws(Status) -> [SecKeychainItem] {
    if let item = query.item {
        try KeychainItem.of(item).current()
        return [item]
    }
    return try items(query.attributes)
}

/// As `items(query)`, with attributes alone.
func items(_ attributes: PasswordAttributes) throws(Status) -> [SecKeychainItem] {
    let store = try Keychain.store()
    let entries = try stored { () throws(HTTPAuthError) in try store.entries(attributes) }
    if entries.isEmpty { throw .itemNotFound }
    return try entries.map { entry throws(Status) in try KeychainItem.make(store, entry) }
}

/// Calls `body` with each item up to a number of them, and leaves out those that another program has removed or changed since they were found.
/// No password of a further item is read, nor its key ring unlocked.
///
/// - Throws: `itemNotFound` if none is left; the first other error of `body`.
func withEach<Item>(_ items: [Item], limit: Int = .max, _ body: (Item) throws(Status) -> Void) throws(Status) {
    var count = 0
    for item in items where count < limit {
        do throws(Status) {
            try body(item)
            count += 1
        } catch {
            guard error == .itemNotFound else { throw error }
        }
    }
    if count == 0 { throw .itemNotFound }
}

/// What a query asks for about an item; nil if it asks for nothing.
private func value(of item: SecKeychainItem, _ query: ItemQuery) throws(Status) -> AnyObject? {
    let content = try KeychainItem.of(item)
    let isDictionary =
        query.returnsAttributes || (query.returnsData && query.returnsReference)
    let data = query.returnsData ? try content.password().withBytes { cfData($0) } : nil
    guard isDictionary else {
        if let data { return data.takeRetainedValue() }
        return query.returnsReference ? item : nil
    }
    let dictionary = cfn_dictionary_create().takeRetainedValue()
    dictionary.set(__kSecValueData, data)
    if query.returnsReference { dictionary.set(__kSecValueRef, Unmanaged.passRetained(item)) }
    if query.returnsAttributes {
        let entry = try content.known()
        let attributes = entry.attributes
        func present(_ text: String?) -> Unmanaged<CFString>? { text.flatMap { $0.isEmpty ? nil : cfString($0) } }
        func date(_ seconds: Int64) -> Unmanaged<CFDate> {
            .passRetained(CFDateCreate(nil, Double(seconds) - kCFAbsoluteTimeIntervalSince1970))
        }
        dictionary.set(__kSecClass, .passRetained(__kSecClassInternetPassword))
        dictionary.set(__kSecAttrServer, present(attributes.server))
        dictionary.set(__kSecAttrSecurityDomain, present(attributes.realm))
        dictionary.set(__kSecAttrAccount, present(attributes.user))
        dictionary.set(__kSecAttrPath, present(attributes.path))
        dictionary.set(__kSecAttrLabel, present(attributes.label))
        dictionary.set(__kSecAttrPort, attributes.port.map { cfNumber($0) })
        dictionary.set(__kSecAttrProtocol, present(attributes.scheme.flatMap(KeychainCodes.protocols.text(of:))))
        dictionary.set(
            __kSecAttrAuthenticationType,
            present(attributes.authenticationType.flatMap(KeychainCodes.authenticationTypes.text(of:))))
        dictionary.set(__kSecAttrCreationDate, date(entry.created))
        dictionary.set(__kSecAttrModificationDate, date(entry.modified))
    }
    return dictionary
}
