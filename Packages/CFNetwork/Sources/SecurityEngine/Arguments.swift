// The arguments and results of functions in C. An argument may be NULL or of another type, which is an error and not a crash.

internal import CFNetworkEngine
internal import CoreFoundation
@_spi(Keychain) internal import CredentialStores
internal import Glibc
internal import SecurityC

/// The errors of functions: an OSStatus each.
enum Status: OSStatus, Error {
    case parameter = -50
    case memory = -108
    case notAvailable = -25291
    case readOnly = -25292
    case passphraseRequired = -25260
    case authenticationFailed = -25293
    case invalidKeychain = -25295
    case duplicateItem = -25299
    case itemNotFound = -25300
    case dataTooLarge = -25302
    case noSuchAttribute = -25303
    case invalidItem = -25304
    case invalidSearch = -25305
    case noSuchClass = -25306
    case noDefaultKeychain = -25307
    case interactionNotAllowed = -25308
    case userCanceled = -128
    case damaged = -26275

    init(_ error: HTTPAuthError) {
        self =
            switch error.code {
            case .storeLocked: error.detail == HTTPAuthError.declined ? .userCanceled : .interactionNotAllowed
            case .alreadyStored: .duplicateItem
            case .storeReadOnly: .readOnly
            case .storeMalformed: .damaged
            default: .notAvailable
            }
    }
}

/// The result of `body` as an OSStatus.
func status(_ body: () throws(Status) -> Void) -> OSStatus {
    do throws(Status) {
        try body()
        return 0
    } catch {
        return error.rawValue
    }
}

/// The result of a store, whose errors become those of C.
func stored<Result>(_ body: () throws(HTTPAuthError) -> Result) throws(Status) -> Result {
    do throws(HTTPAuthError) {
        return try body()
    } catch {
        throw Status(error)
    }
}

/// The content of an object of this library.
func content<Content: ObjectContent>(
    _ object: AnyObject?, _ type: CFTypeID, otherwise error: Status = .parameter
) throws(Status) -> Content {
    guard let content: Content = CFNetworkEngine.content(of: object, type) else { throw error }
    return content
}

/// The same object under the class that its type identifier belongs to. Swift does not know that of CoreFoundation's objects.
func cast<Object: AnyObject>(_ object: AnyObject) -> Object {
    Unmanaged<Object>.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}

/// The pairs of a dictionary whose keys are strings. The values are the program's own objects: Foundation would make copies, and leave that of a
/// password in memory.
func pairs(_ object: AnyObject?) throws(Status) -> [(key: String, value: AnyObject)] {
    guard let object, CFGetTypeID(object) == CFDictionaryGetTypeID() else { throw .parameter }
    let dictionary: CFDictionary = cast(object)
    var keys = [UnsafeRawPointer?](repeating: nil, count: CFDictionaryGetCount(dictionary))
    var values = keys
    CFDictionaryGetKeysAndValues(dictionary, &keys, &values)
    return try zip(keys, values).map { (key, value) throws(Status) in
        guard let key, let value else { throw .parameter }
        let name = Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue()
        guard CFGetTypeID(name) == CFStringGetTypeID() else { throw .parameter }
        return (string(cast(name)), Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue())
    }
}

/// The limits of what the keychain keeps.
enum KeychainLimit {
    /// The maximum number of bytes of an attribute.
    static let attribute = 4096
    /// The maximum number of bytes of a password.
    static let password = 65_536

    /// Verifies the text of an attribute.
    static func verify(_ text: String) throws(Status) -> String {
        if text.utf8.contains(0) { throw .parameter }
        if text.utf8.count > attribute { throw .dataTooLarge }
        return text
    }

    /// Verifies the bytes of a password.
    static func verify(_ password: some Collection<UInt8>) throws(Status) -> Secret {
        if password.count > KeychainLimit.password { throw .dataTooLarge }
        return Secret(bytes: password)
    }
}

/// A text of UTF-8; nil if its length is 0.
func text(_ bytes: UnsafeRawPointer?, _ length: UInt32) throws(Status) -> String? {
    if length == 0 { return nil }
    guard let bytes else { throw .parameter }
    if length > KeychainLimit.attribute { throw .dataTooLarge }
    let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(length))
    guard let text = String(validating: buffer, as: UTF8.self) else { throw .parameter }
    return try KeychainLimit.verify(text)
}

/// The bytes of a password.
func password(_ bytes: UnsafeRawPointer?, _ length: UInt32) throws(Status) -> Secret {
    if length == 0 { return Secret("") }
    guard let bytes else { throw .parameter }
    return try KeychainLimit.verify(UnsafeRawBufferPointer(start: bytes, count: Int(length)))
}

/// Memory with a copy of some bytes, which ``release(_:)`` overwrites and frees.
func copy(_ bytes: UnsafeRawBufferPointer) throws(Status) -> UnsafeMutableRawPointer {
    // One byte more, so that an empty value is not NULL and a text ends with NUL.
    guard let memory = calloc(bytes.count + 1, 1) else { throw .memory }
    if let source = bytes.baseAddress { memory.copyMemory(from: source, byteCount: bytes.count) }
    return memory
}

/// Overwrites and frees memory that ``copy(_:)`` returned.
func release(_ memory: UnsafeMutableRawPointer?) {
    guard let memory else { return }
    explicit_bzero(memory, malloc_usable_size(memory))
    free(memory)
}

/// Writes an object, with a reference, to where a program in C wants it. The memory may be uninitialized.
func give<Object: AnyObject>(_ object: Object, to result: UnsafeMutablePointer<Object?>?) {
    result?.initialize(to: object)
}
