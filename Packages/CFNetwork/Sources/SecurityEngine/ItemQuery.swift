internal import CFNetworkEngine
internal import CoreFoundation
internal import CredentialStores
internal import Foundation
internal import SecurityC

/// A dictionary of the functions of SecItem.h, whose keys and values were verified.
struct ItemQuery {
    /// The use of a dictionary, which decides on the keys that it may have.
    enum Use { case adding, matching, selecting, changing }

    /// A key of a dictionary.
    private enum Key {
        case itemClass, data, reference, returnsData, returnsAttributes, returnsReference, limit
        case attribute(Attribute)

        /// The keys by their texts.
        static let all: [String: Key] = Dictionary(
            uniqueKeysWithValues: [
                (__kSecClass, .itemClass), (__kSecValueData, .data), (__kSecValueRef, .reference),
                (__kSecReturnData, .returnsData), (__kSecReturnAttributes, .returnsAttributes),
                (__kSecReturnRef, .returnsReference), (__kSecMatchLimit, .limit),
                (__kSecAttrServer, .attribute(.server)), (__kSecAttrSecurityDomain, .attribute(.realm)),
                (__kSecAttrAccount, .attribute(.user)), (__kSecAttrPath, .attribute(.path)),
                (__kSecAttrLabel, .attribute(.label)), (__kSecAttrProtocol, .attribute(.scheme)),
                (__kSecAttrAuthenticationType, .attribute(.authenticationType)), (__kSecAttrPort, .attribute(.port)),
            ].map { (string($0), $1) })
    }

    /// An attribute that a program may set.
    private enum Attribute { case server, realm, user, path, label, scheme, authenticationType, port }

    private(set) var attributes = PasswordAttributes()
    /// The attributes that are given, also with an empty value.
    private var given: Set<Attribute> = []
    private(set) var password: Secret?
    private(set) var item: SecKeychainItem?
    private(set) var returnsData = false
    private(set) var returnsAttributes = false
    private(set) var returnsReference = false
    /// The maximum number of items; nil for one, which is returned without an array.
    private(set) var limit: Int?

    /// Reads a dictionary.
    ///
    /// - Throws: `parameter` for an unknown key, or a value of another type; `noSuchClass` for another class.
    init(_ dictionary: AnyObject?, for use: Use) throws(Status) {
        var hasClass = false
        for (name, value) in try pairs(dictionary) {
            guard let key = Key.all[name] else { throw .parameter }
            switch (key, use) {
            case (.itemClass, .adding), (.itemClass, .matching), (.itemClass, .selecting):
                guard try Self.text(value) == string(__kSecClassInternetPassword) else { throw .noSuchClass }
                hasClass = true
            case (.data, .adding), (.data, .changing):
                guard CFGetTypeID(value) == CFDataGetTypeID() else { throw .parameter }
                let data: CFData = cast(value)
                password = try withExtendedLifetime(data) { () throws(Status) in
                    try KeychainLimit.verify(
                        UnsafeBufferPointer(start: CFDataGetBytePtr(data), count: CFDataGetLength(data)))
                }
            case (.reference, .matching), (.reference, .selecting):
                guard CFGetTypeID(value) == KeychainItem.typeID else { throw .parameter }
                item = cast(value)
            case (.returnsData, .adding), (.returnsData, .matching): returnsData = try Self.flag(value)
            case (.returnsAttributes, .adding), (.returnsAttributes, .matching):
                returnsAttributes = try Self.flag(value)
            case (.returnsReference, .adding), (.returnsReference, .matching): returnsReference = try Self.flag(value)
            case (.limit, .matching): limit = try Self.limit(value)
            case (.attribute(let attribute), _): try set(attribute, to: value)
            default: throw .parameter
            }
        }
        guard hasClass || use == .changing else { throw .parameter }
    }

    private mutating func set(_ attribute: Attribute, to value: AnyObject) throws(Status) {
        given.insert(attribute)
        switch attribute {
        case .server: attributes.server = PasswordAttributes(server: try Self.text(value)).server
        case .realm: attributes.realm = try Self.text(value)
        case .user: attributes.user = try Self.text(value)
        case .path: attributes.path = try Self.nonEmpty(value)
        case .label: attributes.label = try Self.nonEmpty(value)
        case .scheme: attributes.scheme = try KeychainCodes.protocols.name(of: Self.text(value))
        case .authenticationType:
            attributes.authenticationType = try KeychainCodes.authenticationTypes.name(of: Self.text(value))
        case .port:
            let number = try Self.number(value)
            guard (0...65535).contains(number) else { throw .parameter }
            attributes.port = number == 0 ? nil : number
        }
    }

    /// Puts the attributes that are given into others.
    func apply(to other: inout PasswordAttributes) {
        for attribute in given {
            switch attribute {
            case .server: other.server = attributes.server
            case .realm: other.realm = attributes.realm
            case .user: other.user = attributes.user
            case .path: other.path = attributes.path
            case .label: other.label = attributes.label
            case .scheme: other.scheme = attributes.scheme
            case .authenticationType: other.authenticationType = attributes.authenticationType
            case .port: other.port = attributes.port
            }
        }
    }

    private static func text(_ value: AnyObject) throws(Status) -> String {
        guard CFGetTypeID(value) == CFStringGetTypeID() else { throw .parameter }
        return try KeychainLimit.verify(string(cast(value)))
    }

    private static func nonEmpty(_ value: AnyObject) throws(Status) -> String? {
        let text = try text(value)
        return text.isEmpty ? nil : text
    }

    // For Foundation, a CFBoolean is a number as well, and a CFNumber a flag.

    private static func flag(_ value: AnyObject) throws(Status) -> Bool {
        guard CFGetTypeID(value) == CFBooleanGetTypeID(), let flag = value as? NSNumber else {
            throw .parameter
        }
        return flag.boolValue
    }

    private static func number(_ value: AnyObject) throws(Status) -> Int {
        guard CFGetTypeID(value) == CFNumberGetTypeID(), let number = value as? NSNumber,
            let integer = Int(exactly: number)
        else { throw .parameter }
        return integer
    }

    private static func limit(_ value: AnyObject) throws(Status) -> Int? {
        if CFEqual(value, __kSecMatchLimitOne) { return nil }
        if CFEqual(value, __kSecMatchLimitAll) { return .max }
        let count = try number(value)
        guard count >= 1 else { throw .parameter }
        return count == 1 ? nil : count
    }
}
