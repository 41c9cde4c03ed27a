// The cases of the tables have the names of the functions.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import DNSServiceC
import DNSServiceC.Runtime
import Foundation
import Testing

import struct DNSServiceEngine.ServiceEnvironment

@testable import ServiceDiscovery

/// Missing and invalid arguments of the functions of dns_sd.h. The tables contain all functions, which a test compares with the header.
struct ArgumentTests {
    private let engine = ScriptedEngine()

    /// The arguments of a function that begins an operation. Functions take those that they have.
    struct Arguments {
        var flags = 0
        var interface: UInt32 = 0
        /// The name of a service, or a full name; texts are bytes, so that they can be invalid.
        var name: [CChar]? = Self.text("a.local")
        var type: [CChar]? = Self.text("_http._tcp")
        var domain: [CChar]?
        var hasCallback = true
        var textCount: UInt16 = 0
        var text: [UInt8]?

        static func text(_ text: String) -> [CChar] { Array(text.utf8CString) }
    }

    /// A function whose first argument is the place for a reference.
    enum Beginning: String, CaseIterable {
        case DNSServiceCreateConnection, DNSServiceEnumerateDomains, DNSServiceRegister, DNSServiceBrowse,
            DNSServiceResolve, DNSServiceQueryRecord, DNSServiceGetAddrInfo, DNSServiceNATPortMappingCreate,
            DNSServiceSleepKeepalive

        /// The functions that are supported and have arguments.
        static let supported = allCases.filter {
            ![.DNSServiceCreateConnection, .DNSServiceNATPortMappingCreate, .DNSServiceSleepKeepalive].contains($0)
        }

        func callAsFunction(_ place: UnsafeMutablePointer<DNSServiceRef?>?, _ given: Arguments) -> DNSServiceErrorType {
            let (flags, index, name) = (DNSServiceFlags(given.flags), given.interface, given.name)
            switch self {
            case .DNSServiceCreateConnection: return DNSServiceC.DNSServiceCreateConnection(place)
            case .DNSServiceEnumerateDomains:
                return DNSServiceC.DNSServiceEnumerateDomains(
                    place, flags | DNSServiceFlags(kDNSServiceFlagsBrowseDomains), index,
                    given.hasCallback ? FunctionReplies.domains : nil, nil)
            case .DNSServiceRegister:
                return DNSServiceC.DNSServiceRegister(
                    place, flags, index, name, given.type, given.domain, nil, 80, given.textCount, given.text,
                    given.hasCallback ? FunctionReplies.register : nil, nil)
            case .DNSServiceBrowse:
                return DNSServiceC.DNSServiceBrowse(
                    place, flags, index, given.type, given.domain, given.hasCallback ? FunctionReplies.browse : nil, nil
                )
            case .DNSServiceResolve:
                return DNSServiceC.DNSServiceResolve(
                    place, flags, index, name, given.type, given.domain,
                    given.hasCallback ? FunctionReplies.resolve : nil, nil)
            case .DNSServiceQueryRecord:
                return DNSServiceC.DNSServiceQueryRecord(
                    place, flags, index, name, 1, 1, given.hasCallback ? FunctionReplies.query : nil, nil)
            case .DNSServiceGetAddrInfo:
                return DNSServiceC.DNSServiceGetAddrInfo(
                    place, flags, index, 0, name, given.hasCallback ? FunctionReplies.address : nil, nil)
            case .DNSServiceNATPortMappingCreate:
                return DNSServiceC.DNSServiceNATPortMappingCreate(place, flags, index, 16, 80, 80, 60, nil, nil)
            case .DNSServiceSleepKeepalive: return DNSServiceC.DNSServiceSleepKeepalive(place, flags, 0, 60, nil, nil)
            }
        }
    }

    /// A function whose first argument is a reference.
    enum Using: String, CaseIterable {
        case DNSServiceRefSockFD, DNSServiceProcessResult, DNSServiceRefDeallocate, DNSServiceSetDispatchQueue,
            DNSServiceAddRecord, DNSServiceUpdateRecord, DNSServiceRemoveRecord, DNSServiceRegisterRecord

        /// The functions for records, which have other references as well.
        static let ofRecords: [Using] = [
            .DNSServiceAddRecord, .DNSServiceUpdateRecord, .DNSServiceRemoveRecord, .DNSServiceRegisterRecord,
        ]

        /// The result; nil for a function without one.
        func callAsFunction(
            _ reference: DNSServiceRef?, record: DNSRecordRef? = nil, count: UInt16 = 1,
            _ given: Arguments = Arguments()
        ) -> DNSServiceErrorType? {
            var new: DNSRecordRef?
            let data: [UInt8]? = given.text ?? [0]
            switch self {
            case .DNSServiceRefSockFD: return DNSServiceC.DNSServiceRefSockFD(reference)
            case .DNSServiceProcessResult: return DNSServiceC.DNSServiceProcessResult(reference)
            case .DNSServiceRefDeallocate:
                DNSServiceC.DNSServiceRefDeallocate(reference)
                return nil
            case .DNSServiceSetDispatchQueue: return dnss_set_queue(reference, nil)
            case .DNSServiceAddRecord: return DNSServiceC.DNSServiceAddRecord(reference, &new, 0, 10, count, data, 0)
            case .DNSServiceUpdateRecord:
                return DNSServiceC.DNSServiceUpdateRecord(reference, record, 0, count, data, 0)
            case .DNSServiceRemoveRecord: return DNSServiceC.DNSServiceRemoveRecord(reference, record, 0)
            case .DNSServiceRegisterRecord:
                return DNSServiceC.DNSServiceRegisterRecord(
                    reference, &new, DNSServiceFlags(kDNSServiceFlagsShared), given.interface, given.name, 10, 1, count,
                    data,
                    0, given.hasCallback ? FunctionReplies.record : nil, nil)
            }
        }

        /// The result for a reference that is missing or invalid.
        func refusal(_ error: Int) -> DNSServiceErrorType? {
            switch self {
            case .DNSServiceRefSockFD: -1
            case .DNSServiceRefDeallocate: nil
            default: DNSServiceErrorType(error)
            }
        }
    }

    /// Values that are no reference: one that was released, the address of memory, a number, and all bits.
    private func strangers() throws -> [DNSServiceRef?] {
        let released = try #require(FunctionReference { DNSServiceCreateConnection($0) }).pointer
        let memory = DNSServiceRef(bitPattern: UInt(bitPattern: Unmanaged.passUnretained(engine).toOpaque()))
        return [released, memory, DNSServiceRef(bitPattern: 1), DNSServiceRef(bitPattern: UInt.max)]
    }

    @Test func theTablesAreComplete() throws {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let header = try String(
            contentsOf: package.appending(path: "Sources/DNSServiceC/include/dns_sd.h"), encoding: .utf8)
        func functions(_ first: String) throws -> Set<String> {
            let text = #"DNSSD_API (\w+)\(\s*DNSServiceRef "# + first + #"\b"#
            let pattern = try Regex(text, as: (Substring, Substring).self)
            return Set(header.matches(of: pattern).map { String($0.output.1) })
        }
        #expect(try functions(#"\*sdRef"#) == Set(Beginning.allCases.map(\.rawValue)))
        #expect(try functions("(?:sdRef|service)") == Set(Using.allCases.map(\.rawValue)))
    }

    @Test(arguments: Using.allCases) func aReferenceIsVerified(function: Using) throws {
        try ServiceEnvironment.with(engine) {
            #expect(function(nil) == function.refusal(kDNSServiceErr_BadParam))
            for stranger in try strangers() {
                #expect(function(stranger) == function.refusal(kDNSServiceErr_BadReference))
            }
        }
    }

    /// An operation of another kind has no records, and one that shares a connection has neither a descriptor nor a queue.
    @Test(arguments: Using.allCases) func theKindOfAReferenceIsVerified(function: Using) throws {
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            let shared = try #require(
                FunctionReference { place in
                    place.pointee = connection.pointer
                    return Beginning.DNSServiceBrowse(place, Arguments(flags: kDNSServiceFlagsShareConnection))
                })
            #expect(function(shared.pointer) == function.refusal(refusalOfShared(function)))
        }
    }

    private func refusalOfShared(_ function: Using) -> Int {
        // Without a record, there is nothing to look up.
        function == .DNSServiceRemoveRecord ? kDNSServiceErr_BadParam : kDNSServiceErr_BadReference
    }

    @Test(arguments: [Using.DNSServiceUpdateRecord, .DNSServiceRemoveRecord])
    func aRecordIsVerified(function: Using) throws {
        try ServiceEnvironment.with(engine) {
            let register = { (place: UnsafeMutablePointer<DNSServiceRef?>) in
                Beginning.DNSServiceRegister(place, Arguments())
            }
            let service = try #require(FunctionReference(register))
            let other = try #require(FunctionReference(register))
            var record: DNSRecordRef?
            #expect(DNSServiceAddRecord(service.pointer, &record, 0, 10, 1, [1] as [UInt8], 0) == 0)
            let bad = DNSServiceErrorType(kDNSServiceErr_BadReference)
            // A record of another service, a reference of a service, and a number.
            #expect(function(other.pointer, record: record) == bad)
            #expect(function(service.pointer, record: service.pointer) == bad)
            #expect(function(service.pointer, record: DNSRecordRef(bitPattern: 1)) == bad)
            #expect(DNSServiceRemoveRecord(service.pointer, record, 0) == 0)
            #expect(function(service.pointer, record: record) == bad)
            // One that has gone with its service.
            #expect(DNSServiceAddRecord(service.pointer, &record, 0, 10, 1, [1] as [UInt8], 0) == 0)
            DNSServiceRefDeallocate(service.pointer)
            #expect(function(service.pointer, record: record) == bad && function(other.pointer, record: record) == bad)
        }
    }

    @Test(arguments: Beginning.allCases) func aPlaceForTheReferenceIsNecessary(function: Beginning) {
        ServiceEnvironment.with(engine) {
            let isSupported = function == .DNSServiceCreateConnection || Beginning.supported.contains(function)
            let error = isSupported ? kDNSServiceErr_BadParam : kDNSServiceErr_Unsupported
            #expect(function(nil, Arguments()) == error && engine.running.isEmpty)
        }
    }

    @Test(arguments: Beginning.supported) func aConnectionIsVerified(function: Beginning) throws {
        let arguments = Arguments(flags: kDNSServiceFlagsShareConnection)
        try ServiceEnvironment.with(engine) {
            var reference: DNSServiceRef?
            #expect(function(&reference, arguments) == kDNSServiceErr_BadParam && reference == nil)
            for stranger in try strangers() {
                reference = stranger
                #expect(function(&reference, arguments) == kDNSServiceErr_BadReference && reference == stranger)
            }
            let alone = try #require(FunctionReference { Beginning.DNSServiceBrowse($0, Arguments()) })
            reference = alone.pointer
            #expect(function(&reference, arguments) == kDNSServiceErr_BadReference && reference == alone.pointer)
            #expect(engine.running.count == 1)
        }
    }

    /// A record needs a place for its reference, data for its length, and a service a host whose name is text.
    @Test func aPlaceAndTheDataOfARecordAreNecessary() throws {
        let bad = DNSServiceErrorType(kDNSServiceErr_BadParam)
        try ServiceEnvironment.with(engine) {
            let service = try #require(FunctionReference { Beginning.DNSServiceRegister($0, Arguments()) })
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            let (data, shared) = ([0] as [UInt8], DNSServiceFlags(kDNSServiceFlagsShared))
            var record: DNSRecordRef?
            func register(
                _ place: UnsafeMutablePointer<DNSRecordRef?>?, _ data: [UInt8]?, _ reply: DNSServiceRegisterRecordReply?
            ) -> DNSServiceErrorType {
                DNSServiceRegisterRecord(connection.pointer, place, shared, 0, "a.local", 10, 1, 1, data, 0, reply, nil)
            }
            var results = [
                DNSServiceAddRecord(service.pointer, nil, 0, 10, 1, data, 0),
                DNSServiceAddRecord(service.pointer, &record, 0, 10, 1, nil, 0),
                register(nil, data, FunctionReplies.record), register(&record, data, nil),
                register(&record, nil, FunctionReplies.record),
            ]
            var other: DNSServiceRef?
            for host in [Mistake.invalid, Arguments.text("a..b"), Arguments.text(String(repeating: "h", count: 64))] {
                results.append(DNSServiceRegister(&other, 0, 0, nil, "_http._tcp", nil, host, 80, 0, nil, nil, nil))
            }
            #expect(results.allSatisfy { $0 == bad } && record == nil)
            #expect(other == nil && engine.running.count == 1)
        }
    }

    /// The indexes of interfaces that a function accepts, and the errors of the others.
    static let interfaces: [(index: UInt32, error: Int)] = [
        (0, 0), (1, 0), (UInt32.max, 0), (UInt32.max - 1, kDNSServiceErr_Unsupported),
        (UInt32.max - 2, kDNSServiceErr_Unsupported), (UInt32.max - 3, kDNSServiceErr_Unsupported),
        (UInt32.max - 4, kDNSServiceErr_BadInterfaceIndex), (9_999, kDNSServiceErr_BadInterfaceIndex),
    ]

    @Test(arguments: Beginning.supported, interfaces)
    func anInterfaceIsVerified(function: Beginning, interface: (index: UInt32, error: Int)) {
        ServiceEnvironment.with(engine) {
            var reference: DNSServiceRef?
            #expect(function(&reference, Arguments(interface: interface.index)) == interface.error)
            #expect((reference == nil) == (interface.error != 0))
            DNSServiceRefDeallocate(reference)
            #expect(engine.running.isEmpty)
        }
    }

    @Test(arguments: interfaces) func theInterfaceOfARecordIsVerified(interface: (index: UInt32, error: Int)) throws {
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            let given = Arguments(interface: interface.index)
            #expect(Using.DNSServiceRegisterRecord(connection.pointer, given).map(Int.init) == interface.error)
            let name = Arguments.text("a.local")
            #expect(DNSServiceReconfirmRecord(0, interface.index, name, 10, 1, 1, [0] as [UInt8]) == interface.error)
        }
    }

    /// The embedded engine registers names in `local` only, and the only class is that of the Internet.
    @Test func theClassAndTheDomainOfARecordAreVerified() throws {
        let unsupported = DNSServiceErrorType(kDNSServiceErr_Unsupported)
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            func register(_ name: String, _ recordClass: UInt16) -> DNSServiceErrorType {
                var record: DNSRecordRef?
                return DNSServiceRegisterRecord(
                    connection.pointer, &record, DNSServiceFlags(kDNSServiceFlagsShared), 0, name, 10, recordClass, 1,
                    [0] as [UInt8], 0, FunctionReplies.record, nil)
            }
            #expect(register("a.local", 1) == 0)
            #expect(register("a.local", 3) == unsupported && register("a.example.org", 1) == unsupported)
            #expect(DNSServiceReconfirmRecord(0, 0, "a.local", 10, 3, 1, [0] as [UInt8]) == unsupported)
        }
    }

    /// A change of valid arguments, and whether a function has the argument.
    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (inout Arguments) -> Void
        let functions: Set<Beginning>

        init(_ name: String, _ functions: [Beginning], _ change: @escaping @Sendable (inout Arguments) -> Void) {
            (testDescription, self.functions, self.change) = (name, Set(functions), change)
        }

        static let typed: [Beginning] = [.DNSServiceRegister, .DNSServiceBrowse, .DNSServiceResolve]
        static let named: [Beginning] = [.DNSServiceResolve, .DNSServiceQueryRecord, .DNSServiceGetAddrInfo]
        static let invalid = [CChar(bitPattern: 0xC3), 0x28, 0]

        static let all = [
            Mistake("no callback", Beginning.supported.filter { $0 != .DNSServiceRegister }) { $0.hasCallback = false },
            Mistake("no type", typed) { $0.type = nil },
            Mistake("an empty type", typed) { $0.type = [0] },
            Mistake("a type without a protocol", typed) { $0.type = Arguments.text("_http") },
            Mistake("a type that is no text", typed) { $0.type = invalid },
            Mistake("a domain that is no text", typed) { $0.domain = invalid },
            Mistake("a domain with an empty label", typed) { $0.domain = Arguments.text("a..b") },
            Mistake("no name", named) { $0.name = nil },
            Mistake("an empty name", named) { $0.name = [0] },
            Mistake("a name that is no text", named + [.DNSServiceRegister]) { $0.name = invalid },
            // The engine verifies the length of a registered name.
            Mistake("a name that is too long", named) {
                $0.name = Arguments.text(String(repeating: "n", count: 300))
            },
            Mistake("a length without a record", [.DNSServiceRegister]) { $0.textCount = 1 },
            Mistake("a record whose last item is cut short", [.DNSServiceRegister]) {
                ($0.text, $0.textCount) = ([1, 97, 3, 98, 61], 5)
            },
            Mistake("a record that is too long", [.DNSServiceRegister]) { arguments in
                let items = (100..<400).map { [254] + Array("\($0)=".utf8) + [UInt8](repeating: 7, count: 250) }
                arguments.text = items.flatMap { $0 }.prefix(65_535) + []
                arguments.textCount = 65_535
            },
        ]
    }

    @Test(arguments: Beginning.supported, Mistake.all)
    func anArgumentIsVerified(function: Beginning, mistake: Mistake) {
        ServiceEnvironment.with(engine) {
            var (arguments, reference) = (Arguments(), DNSServiceRef?.none)
            mistake.change(&arguments)
            let isRefused = mistake.functions.contains(function)
            #expect(function(&reference, arguments) == (isRefused ? kDNSServiceErr_BadParam : 0))
            #expect((reference == nil) == isRefused)
            DNSServiceRefDeallocate(reference)
            #expect(engine.running.isEmpty)
        }
    }

    /// A TXT record at and over the size of a packet, and a length without data, also after the registration.
    @Test func theDataOfARecordIsVerified() throws {
        func text(_ count: Int) -> [UInt8] {
            (0..<count / 250).flatMap { [249] + Array("\(1000 + $0)=".utf8) + [UInt8](repeating: 7, count: 244) }
        }
        try ServiceEnvironment.with(engine) {
            let service = try #require(FunctionReference { Beginning.DNSServiceRegister($0, Arguments()) })
            let items = TXTRecord.maximumPublishedSize / 250
            let (fitting, large) = (text(items * 250), text((items + 1) * 250))
            func update(_ bytes: [UInt8]?, _ count: Int) -> DNSServiceErrorType {
                DNSServiceUpdateRecord(service.pointer, nil, 0, UInt16(count), bytes, 0)
            }
            #expect(update(fitting, fitting.count) == 0 && update(nil, 0) == 0)
            #expect(update(large, large.count) == kDNSServiceErr_BadParam && update(nil, 1) == kDNSServiceErr_BadParam)
            #expect(update([1, 97, 3, 98, 61], 5) == kDNSServiceErr_BadParam && update([0], 1) == 0)
            for function in [Using.DNSServiceAddRecord, .DNSServiceUpdateRecord] {
                var given = Arguments()
                given.text = large
                let count = UInt16(large.count)
                #expect(function(service.pointer, count: count, given) == DNSServiceErrorType(kDNSServiceErr_BadParam))
            }
        }
    }

    /// What the daemon has refused, it has refused with a number of dns_sd.h.
    @Test(arguments: [-65_540, -65_549, -65_555] as [DNSServiceErrorType])
    func theNumberOfTheDaemonIsReturned(number: DNSServiceErrorType) {
        ServiceEnvironment.with(engine) {
            engine.refuse(DaemonNumber.error(number))
            for function in Beginning.supported {
                var reference: DNSServiceRef?
                #expect(function(&reference, Arguments()) == number && reference == nil, "\(function)")
            }
        }
    }

    /// The variable chooses the engine; an unknown value is an error, and not another engine.
    @Test func theVariableChoosesTheEngine() {
        func local(_ choice: String?) -> (any RecordEngine)? {
            let engine = ServiceEnvironment(choice: choice).engine?.engine
            return (engine as? DomainRouter)?.local ?? engine
        }
        for choice in [nil, "", "embedded"] { #expect(local(choice) is EmbeddedEngine) }
        #expect(local("automatic") is AutomaticEngine && local("daemon") is DaemonEngine)
        ServiceEnvironment.$current.withValue(ServiceEnvironment(choice: "Daemon")) {
            var reference: DNSServiceRef?
            for function in Beginning.supported {
                #expect(function(&reference, Arguments()) == kDNSServiceErr_Unsupported && reference == nil)
            }
            #expect(DNSServiceReconfirmRecord(0, 0, "a.local", 10, 1, 1, [0] as [UInt8]) == kDNSServiceErr_Unsupported)
        }
    }
}
