// The arguments of functions in C, and their results. A missing or invalid argument is an error, and not a crash.

internal import DNSServiceC
internal import DNSServiceC.Runtime
internal import DNSWire
internal import EventLoops
internal import Glibc
internal import HostResolver
package import ServiceDiscovery

/// The engines and the time limit of operations. Tests replace them.
package struct ServiceEnvironment: Sendable {
    /// The environment variable that chooses the engine of a program: `embedded`, `daemon` or `automatic`.
    package static let variable = "NETKIT_DNS_SD"

    /// The engine of all interfaces; nil if the variable has another value.
    package var engine: DiscoveryEngine?
    /// The engine of kDNSServiceInterfaceIndexLocalOnly.
    package var ofThisMachine: DiscoveryEngine
    /// The time of kDNSServiceFlagsTimeout.
    package var timeout: Duration

    private static let loopback = EmbeddedEngine(interfaces: ["lo"])

    /// The environment of a program.
    package init(
        engine: DiscoveryEngine?, ofThisMachine: DiscoveryEngine? = nil, timeout: Duration = .seconds(30)
    ) {
        self.engine = engine
        self.ofThisMachine = ofThisMachine ?? .embedded(Self.loopback)
        self.timeout = timeout
    }

    /// The environment of a program in which the variable has a value; nil or empty for none.
    package init(choice: String?) {
        switch choice {
        case nil, "", "embedded": self.init(engine: .embedded)
        case "daemon": self.init(engine: .daemon)
        case "automatic": self.init(engine: .automatic)
        default: self.init(engine: nil)
        }
    }

    /// The environment of the functions that are called now. The variable is read when the first operation begins.
    @TaskLocal package static var current = ServiceEnvironment(
        choice: getenv(variable).map { String(cString: $0) })
}

/// An error of dns_sd.h, which is not kDNSServiceErr_NoError.
struct ServiceFailure: Error {
    let number: DNSServiceErrorType

    init(_ number: Int) { self.number = DNSServiceErrorType(number) }

    init(_ error: ServiceDiscoveryError) {
        if let number = error.daemonNumber.flatMap(DNSServiceErrorType.init(exactly:)) {
            self.init(Int(number))
            return
        }
        let number =
            switch error.code {
            case .collision: kDNSServiceErr_NameConflict
            case .notFound: kDNSServiceErr_NoSuchName
            case .invalidName, .invalidType, .invalidDomain, .invalidRecord: kDNSServiceErr_BadParam
            // The engine verifies interfaces only.
            case .badArgument: kDNSServiceErr_BadInterfaceIndex
            case .busy, .cancelled, .invalidated: kDNSServiceErr_BadState
            case .timedOut: kDNSServiceErr_Timeout
            case .unsupported: kDNSServiceErr_Unsupported
            case .daemonUnavailable: kDNSServiceErr_ServiceNotRunning
            case .limitReached: kDNSServiceErr_Refused
            case .system where error.isScarcity: kDNSServiceErr_NoMemory
            default: kDNSServiceErr_Unknown
            }
        self.init(number)
    }
}

/// Refuses a process that was forked after the first operation or connection. The threads of the engine are in the other one, and a lock
/// would wait for them for ever. Called before any lock.
///
/// - Throws: kDNSServiceErr_ServiceNotRunning.
func verifyProcess() throws(ServiceFailure) {
    if dnss_process_is_own() == 0 { throw ServiceFailure(kDNSServiceErr_ServiceNotRunning) }
}

/// The result of a function.
func result(_ body: () throws(ServiceFailure) -> Void) -> DNSServiceErrorType {
    do throws(ServiceFailure) {
        try body()
        return DNSServiceErrorType(kDNSServiceErr_NoError)
    } catch {
        return error.number
    }
}

/// The result of a Swift function, with the error of dns_sd.h.
func translating<Value>(_ body: () throws(ServiceDiscoveryError) -> Value) throws(ServiceFailure) -> Value {
    do throws(ServiceDiscoveryError) {
        return try body()
    } catch {
        throw ServiceFailure(error)
    }
}

/// A callback and its context.
struct Client<Callback>: @unchecked Sendable {
    // Both are constant. They are used where the program has asked for replies, and only there.
    let callback: Callback
    let context: UnsafeMutableRawPointer?

    init(_ callback: Callback?, _ context: UnsafeMutableRawPointer?) throws(ServiceFailure) {
        guard let callback else { throw ServiceFailure(kDNSServiceErr_BadParam) }
        (self.callback, self.context) = (callback, context)
    }
}

// MARK: Texts and names

/// A text; nil for NULL and for an empty one.
func text(_ pointer: UnsafePointer<CChar>?) throws(ServiceFailure) -> String? {
    guard let pointer, pointer.pointee != 0 else { return nil }
    guard let text = String(validatingCString: pointer) else { throw ServiceFailure(kDNSServiceErr_BadParam) }
    return text
}

/// A type with its subtypes. That of a service which is registered follows more rules than those of the services of other hosts.
func serviceType(_ pointer: UnsafePointer<CChar>?, registers: Bool = false) throws(ServiceFailure) -> ServiceType {
    guard let text = try text(pointer) else { throw ServiceFailure(kDNSServiceErr_BadParam) }
    return try translating { () throws(ServiceDiscoveryError) in
        registers ? try ServiceType(registeredByProgram: text) : try ServiceType(browsedByProgram: text)
    }
}

/// Whether a type stands for the list of all types (RFC 6763 §9).
func isListOfTypes(_ pointer: UnsafePointer<CChar>?) throws(ServiceFailure) -> Bool {
    guard let text = try text(pointer) else { return false }
    return DNSName(text) == DNSName("_services._dns-sd._udp")
}

/// A domain; nil for the default one.
func domain(_ pointer: UnsafePointer<CChar>?) throws(ServiceFailure) -> ServiceDomain? {
    guard let text = try text(pointer) else { return nil }
    return try translating { () throws(ServiceDiscoveryError) in try ServiceDomain(text) }
}

/// A full name, with escapes.
func name(_ pointer: UnsafePointer<CChar>?) throws(ServiceFailure) -> DNSName {
    guard let text = try text(pointer), let name = DNSName(text), name != .root else {
        throw ServiceFailure(kDNSServiceErr_BadParam)
    }
    return name
}

/// The bytes of a buffer, which may be NULL if it is empty.
func bytes(_ pointer: UnsafeRawPointer?, _ count: UInt16) throws(ServiceFailure) -> [UInt8] {
    guard pointer != nil || count == 0 else { throw ServiceFailure(kDNSServiceErr_BadParam) }
    return Array(UnsafeRawBufferPointer(start: pointer, count: Int(count)))
}

/// The TXT record of a service, which is empty without data.
func textRecord(_ pointer: UnsafeRawPointer?, _ count: UInt16) throws(ServiceFailure) -> TXTRecord {
    if count == 0 { return TXTRecord() }
    guard case .txt(let strings) = try recordData(UInt16(kDNSServiceType_TXT), count, pointer) else {
        throw ServiceFailure(kDNSServiceErr_BadParam)
    }
    return TXTRecord(strings: strings)
}

/// The data of a record.
func recordData(
    _ type: UInt16, _ count: UInt16, _ pointer: UnsafeRawPointer?
) throws(ServiceFailure) -> DNSRecordData {
    guard let data = DNSRecordData(wire: try bytes(pointer, count), type: DNSRecordType(rawValue: type)) else {
        throw ServiceFailure(kDNSServiceErr_BadParam)
    }
    return data
}

/// Accepts the class of the Internet only.
func verifyClass(_ number: UInt16) throws(ServiceFailure) {
    guard number == UInt16(kDNSServiceClass_IN) else { throw ServiceFailure(kDNSServiceErr_Unsupported) }
}

extension DNSName {
    /// The text of the name for a program in C: dots, backslashes and spaces are escaped, and bytes beyond ASCII are not (RFC 6763 §4.3).
    var cText: String {
        let bytes = labels.flatMap { label in label.flatMap(Self.cText) + [UInt8(ascii: ".")] }
        return String(decoding: bytes.isEmpty ? [UInt8(ascii: ".")] : bytes, as: UTF8.self)
    }

    private static func cText(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
        case 0...0x20, 0x7F: Array("\\\(byte / 100)\(byte / 10 % 10)\(byte % 10)".utf8)
        default: [byte]
        }
    }
}

// MARK: Interfaces

/// Where an operation works.
struct Place: Sendable {
    let engine: DiscoveryEngine
    /// The only interface; nil for all.
    let interface: String?
    private let isThisMachine: Bool

    /// - Throws: kDNSServiceErr_BadInterfaceIndex; kDNSServiceErr_NoMemory without descriptors; kDNSServiceErr_Unsupported for an index with another meaning;
    ///   kDNSServiceErr_ServiceNotRunning in a forked process.
    init(_ index: UInt32) throws(ServiceFailure) {
        try verifyProcess()
        let environment = ServiceEnvironment.current
        isThisMachine = index == .max
        switch index {
        case 0: interface = nil
        case .max:
            (engine, interface) = (environment.ofThisMachine, nil)
            return
        case (.max - 3)...: throw ServiceFailure(kDNSServiceErr_Unsupported)
        default:
            interface = try translating { () throws(ServiceDiscoveryError) in try InterfaceName.of(index) }
            if interface == nil { throw ServiceFailure(kDNSServiceErr_BadInterfaceIndex) }
        }
        guard let engine = environment.engine else { throw ServiceFailure(kDNSServiceErr_Unsupported) }
        self.engine = engine
    }

    /// The index of an interface in a reply.
    func replyIndex(_ index: UInt32) -> UInt32 { isThisMachine ? .max : index }
}
