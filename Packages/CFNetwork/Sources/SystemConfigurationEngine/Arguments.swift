// The arguments and results of functions in C. An argument may be NULL or of another type, which is an error and not a crash.

internal import CFNetworkEngine
internal import CoreFoundation
internal import SystemConfigurationC
internal import SystemConfigurationC.Runtime

/// The results of SCError that this library sets.
enum Status: CInt, Error {
    case success = 0
    case failed = 1001
    case invalidArgument = 1002
    case accessError = 1003
    case noKey = 1004
    case noSession = 2001
    case notifierActive = 2003
    case reachabilityUnknown = 4001
}

/// The result of `body`, or the fallback if it fails, with the result of SCError.
func reporting<Result>(_ fallback: Result, _ body: () throws(Status) -> Result) -> Result {
    do throws(Status) {
        let result = try body()
        scn_error_set(Status.success.rawValue)
        return result
    } catch {
        scn_error_set(error.rawValue)
        return fallback
    }
}

/// Whether an argument is an object of a type.
private func isObject(_ object: AnyObject?, of type: CFTypeID) -> Bool {
    object.map { CFGetTypeID($0) == type } ?? false
}

/// The content of an object of this library.
func content<Content: ObjectContent>(
    _ object: AnyObject?, _ type: CFTypeID, orNull: Status = .invalidArgument
) throws(Status) -> Content {
    guard let object else { throw orNull }
    guard let content: Content = CFNetworkEngine.content(of: object, type) else { throw .invalidArgument }
    return content
}

/// The text of a string.
func text(_ object: CFString?) throws(Status) -> String {
    guard let object, isObject(object, of: CFStringGetTypeID()) else { throw .invalidArgument }
    return string(object)
}

/// An argument that must not be NULL, which a program in C may pass all the same.
func required<Object: AnyObject>(_ object: Object) -> Object? {
    // Compared as a number: for the compiler, a reference that is not optional is never null.
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    return UnsafeRawPointer(bitPattern: address).map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
}

/// The texts of an array of strings; none for NULL.
func texts(_ object: CFArray?) throws(Status) -> [String] {
    guard let object else { return [] }
    guard isObject(object, of: CFArrayGetTypeID()) else { throw .invalidArgument }
    var result: [String] = []
    for index in 0..<CFArrayGetCount(object) {
        guard let element = CFArrayGetValueAtIndex(object, index) else { throw .invalidArgument }
        result.append(try text(Unmanaged<CFString>.fromOpaque(element).takeUnretainedValue()))
    }
    return result
}

/// Verifies that an object has a type that property lists have.
func verifyPropertyList(_ object: AnyObject?) throws(Status) {
    let types = [
        CFStringGetTypeID(), CFDataGetTypeID(), CFNumberGetTypeID(), CFBooleanGetTypeID(), CFDateGetTypeID(),
        CFArrayGetTypeID(), CFDictionaryGetTypeID(),
    ]
    guard types.contains(where: { isObject(object, of: $0) }) else { throw .invalidArgument }
}

/// The pointer of a context and the text that describes it.
struct ClientContext: Sendable {
    let info: ClientInfo
    private let copyDescription: (@convention(c) (UnsafeRawPointer) -> Unmanaged<CFString>)?

    /// The description of the pointer, if the context has a function for it.
    var description: String? {
        guard let copyDescription, let pointer = info.pointer else { return nil }
        let text = copyDescription(UnsafeRawPointer(pointer))
        defer { text.release() }
        return string(text.takeUnretainedValue())
    }

    init(_ context: SCDynamicStoreContext) {
        info = ClientInfo(
            context.info, retain: context.retain.map { unsafeBitCast($0, to: CFAllocatorRetainCallBack.self) },
            release: context.release.map { unsafeBitCast($0, to: CFAllocatorReleaseCallBack.self) })
        copyDescription = context.copyDescription
    }

    init(_ context: SCNetworkReachabilityContext) {
        self.init(
            SCDynamicStoreContext(
                version: context.version, info: context.info, retain: context.retain, release: context.release,
                copyDescription: context.copyDescription))
    }
}
