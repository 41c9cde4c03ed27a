internal import CFNetworkEngine
internal import CoreFoundation
internal import Foundation
internal import HTTPAuth
internal import SecurityC

/// A dictionary of the functions of SecItem.h, whose keys and values were verified.
struct ItemQuery {
    /// The use of a dictionary, which decides on the keys that it may have.
    enum Use { case adding, matching, selecting, changing }

    private(set) var attributes = PasswordAttributes()
    /// The keys of attributes that are given, also with an empty value.
    private(set) var names: Set<String> = []
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
        guard let dictionary, CFGetTypeID(dictionary) == CFDictionaryGetTypeID(),
            let pairs = dictionary as? [AnyHashable: Any]
        else { throw .parameter }
        var hasClass = false
        for (key, value) in pairs {
            guard let key = key.base as? String else { throw .parameter }
            switch (key, use) {
            case ("class", .adding), ("class", .matching), ("class", .selecting):
                guard try Self.text(value) == "inet" else { throw .noSuchClass }
                hasClass = true
            case ("v_Data", .adding), ("v_Data", .changing):
                guard let data = value as? Data else { throw .parameter }
                password = try KeychainLimit.verify(data)
            case ("v_Ref", .matching), ("v_Ref", .selecting):
                guard CFGetTypeID(value as AnyObject) == KeychainItem.typeID else { throw .parameter }
                item = cast(value as AnyObject)
            case ("r_Data", .adding), ("r_Data", .matching): returnsData = try Self.flag(value)
            case ("r_Attributes", .adding), ("r_Attributes", .matching): returnsAttributes = try Self.flag(value)
            case ("r_Ref", .adding), ("r_Ref", .matching): returnsReference = try Self.flag(value)
            case ("m_Limit", .matching): limit = try Self.limit(value)
            default: try setAttribute(key, to: value)
            }
        }
        guard hasClass || use == .changing else { throw .parameter }
    }

    private mutating func setAttribute(_ key: String, to value: Any) throws(Status) {
        names.insert(key)
        switch key {
        case "srvr": attributes.server = PasswordAttributes(server: try Self.text(value)).server
        case "sdmn": attributes.realm = try Self.text(value)
        case "acct": attributes.user = try Self.text(value)
        case "path": attributes.path = try Self.nonEmpty(value)
        case "labl": attributes.label = try Self.nonEmpty(value)
        case "ptcl": attributes.scheme = try KeychainCodes.protocols.name(of: Self.text(value))
        case "atyp":
            attributes.authenticationType = try KeychainCodes.authenticationTypes.name(of: Self.text(value))
        case "port":
            guard let number = value as? NSNumber, (0...65535).contains(number.int64Value) else { throw .parameter }
            attributes.port = number.intValue == 0 ? nil : number.intValue
        default: throw .parameter
        }
    }

    /// Puts the attributes that are given into others.
    func apply(to other: inout PasswordAttributes) {
        for name in names {
            switch name {
            case "srvr": other.server = attributes.server
            case "sdmn": other.realm = attributes.realm
            case "acct": other.user = attributes.user
            case "path": other.path = attributes.path
            case "labl": other.label = attributes.label
            case "ptcl": other.scheme = attributes.scheme
            case "atyp": other.authenticationType = attributes.authenticationType
            default: other.port = attributes.port
            }
        }
    }

    private static func text(_ value: Any) throws(Status) -> String {
        guard let text = value as? String else { throw .parameter }
        return try KeychainLimit.verify(text)
    }

    private static func nonEmpty(_ value: Any) throws(Status) -> String? {
        let text = try text(value)
        return text.isEmpty ? nil : text
    }

    private static func flag(_ value: Any) throws(Status) -> Bool {
        guard let flag = value as? NSNumber else { throw .parameter }
        return flag.boolValue
    }

    private static func limit(_ value: Any) throws(Status) -> Int? {
        if let number = value as? NSNumber, number.int64Value >= 1 { return number.intValue }
        switch value as? String {
        case "m_LimitOne": return nil
        case "m_LimitAll": return .max
        default: throw .parameter
        }
    }
}
