import DNSServiceC
import DNSWire
import EventLoops
import HostResolver
import Testing

import struct DNSServiceEngine.ServiceEnvironment

@testable import ServiceDiscovery

/// The functions of dns_sd.h that publish.
struct RegistrationFunctionTests {
    private let replies = FunctionReplies()
    private let engine = ScriptedEngine()

    private func register(
        _ name: String? = "Web", type: String = "_http._tcp,_printer", flags: Int = 0, host: String? = nil,
        text: [UInt8] = [], interface: UInt32 = 0
    ) -> FunctionReference? {
        FunctionReference {
            DNSServiceRegister(
                $0, DNSServiceFlags(flags), interface, name, type, nil, host, UInt16(80).bigEndian, UInt16(text.count),
                text,
                FunctionReplies.register, replies.context)
        }
    }

    private func published(_ name: String) throws -> DiscoveryEvent {
        .published(try ServiceInstance(name: name, type: ServiceType("_http._tcp")))
    }

    @Test func aServiceIsRegistered() throws {
        try ServiceEnvironment.with(engine) {
            let service = try #require(register(host: "other.local", text: Array("\u{3}a=1".utf8)))
            let advertisement = try #require(engine.advertisements.first)
            #expect(advertisement.name == "Web" && advertisement.port == 80 && advertisement.renamesOnConflict)
            #expect(advertisement.type.subtypes == ["_printer"] && advertisement.record.string("a") == "1")
            #expect(advertisement.host == DNSName("other.local"))
            #expect(!service.isReadable)
            engine.report(try published("Web (2)"))
            #expect(service.isReadable)
            service.process()
            #expect(replies.take() == ["2 0 Web (2) _http._tcp. local."] && !service.isReadable)
            DNSServiceRefDeallocate(service.pointer)
            #expect(engine.running.isEmpty)
        }
    }

    @Test func aServiceNeedsNoCallback() throws {
        try ServiceEnvironment.with(engine) {
            let service = try #require(
                FunctionReference { DNSServiceRegister($0, 0, 0, nil, "_http._tcp", "", "", 80, 0, nil, nil, nil) })
            engine.report(try published("Web"))
            #expect(service.process() == 0)
            #expect(engine.advertisements.first?.name == ComputerName.current)
        }
        // A failure has the name that was tried.
        try ServiceEnvironment.with(ScriptedEngine(refusing: ServiceDiscoveryError(.collision))) {
            let service = try #require(register(nil))
            service.process()
            #expect(replies.take() == ["0 -65548 \(ComputerName.current) _http._tcp. local."])
        }
    }

    /// The failure of a service that has the name of this computer names it.
    @Test func aFailureNamesTheComputer() throws {
        try ServiceEnvironment.with(engine) {
            let service = try #require(register(nil, flags: kDNSServiceFlagsNoAutoRename))
            engine.report(.failed(ServiceDiscoveryError(.collision)))
            service.process()
            #expect(replies.take() == ["0 -65548 \(ComputerName.current) _http._tcp. local."])
        }
    }

    /// A name that is taken is reported by the callback, also if this process has it.
    @Test func aTakenNameIsReported() throws {
        let taken = "0 -65548 Web _http._tcp. local."
        try ServiceEnvironment.with(engine) {
            let service = try #require(register(flags: kDNSServiceFlagsNoAutoRename))
            #expect(engine.advertisements.first?.renamesOnConflict == false)
            engine.report(.failed(ServiceDiscoveryError(.collision)))
            service.process()
            #expect(replies.take() == [taken])
        }
        try ServiceEnvironment.with(ScriptedEngine(refusing: ServiceDiscoveryError(.collision))) {
            let service = try #require(register())
            #expect(service.isReadable)
            service.process()
            #expect(replies.take() == [taken] && !service.isReadable)
        }
    }

    @Test func recordsAreAddedChangedAndRemoved() throws {
        try ServiceEnvironment.with(engine) {
            let service = try #require(register())
            var (first, second): (DNSRecordRef?, DNSRecordRef?)
            let (null, address, three) = (UInt16(kDNSServiceType_NULL), [10, 0, 0, 1] as [UInt8], [3] as [UInt8])
            #expect(DNSServiceAddRecord(service.pointer, &first, 0, null, 2, [1, 2] as [UInt8], 0) == 0)
            #expect(DNSServiceAddRecord(service.pointer, &second, 0, UInt16(kDNSServiceType_A), 4, address, 60) == 0)
            #expect(DNSServiceUpdateRecord(service.pointer, first, 0, 1, three, 7) == 0)
            #expect(DNSServiceRemoveRecord(service.pointer, second, 0) == 0)
            #expect(DNSServiceUpdateRecord(service.pointer, nil, 0, 2, [1, 0x61] as [UInt8], 0) == 0)
            #expect(
                engine.calls.dropFirst() == [
                    #"records ["TYPE10 [1, 2] 4500"]"#, #"records ["TYPE10 [1, 2] 4500", "A [10, 0, 0, 1] 60"]"#,
                    #"records ["TYPE10 [3] 7", "A [10, 0, 0, 1] 60"]"#, #"records ["TYPE10 [3] 7"]"#, "update a",
                ])
            // A record that is removed, that is not of the service, or that is invalid.
            #expect(DNSServiceRemoveRecord(service.pointer, second, 0) == -65541)
            let other = try #require(register("Other"))
            #expect(DNSServiceUpdateRecord(other.pointer, first, 0, 1, three, 7) == -65541)
            #expect(
                DNSServiceAddRecord(service.pointer, &second, 0, UInt16(kDNSServiceType_A), 3, address, 0) == -65540)
            // One that is too large leaves the others as they are.
            let large = [UInt8](repeating: 1, count: 9_000)
            #expect(DNSServiceAddRecord(service.pointer, &second, 0, null, 9_000, large, 0) == -65540)
            #expect(DNSServiceUpdateRecord(service.pointer, first, 0, 9_000, large, 0) == -65540)
            #expect(engine.calls.last == "publish Other")
        }
    }

    /// A service that another thread releases while a record is added is published no more.
    @Test func aServiceIsReleasedWhileARecordIsAdded() throws {
        try ServiceEnvironment.with(engine) {
            let service = try #require(register())
            engine.inNextUpdate { DNSServiceRefDeallocate(service.pointer) }
            var record: DNSRecordRef?
            #expect(DNSServiceAddRecord(service.pointer, &record, 0, 10, 1, [1] as [UInt8], 0) == -65541)
            #expect(record == nil && engine.running.isEmpty)
        }
    }

    @Test func recordsAreRegisteredOnAConnection() throws {
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            func register(_ flags: Int, _ record: inout DNSRecordRef?) -> DNSServiceErrorType {
                DNSServiceRegisterRecord(
                    connection.pointer, &record, DNSServiceFlags(flags), 0, "desk.local", UInt16(kDNSServiceType_A), 1,
                    4,
                    [192, 0, 2, 7] as [UInt8], 0, FunctionReplies.record, replies.context)
            }
            var (first, second): (DNSRecordRef?, DNSRecordRef?)
            #expect(register(0, &first) == -65543 && first == nil)
            #expect(register(kDNSServiceFlagsUnique, &first) == 0 && register(kDNSServiceFlagsShared, &second) == 0)
            #expect(
                engine.calls == [
                    "publish unique desk.local. A [192, 0, 2, 7] 120",
                    "publish shared desk.local. A [192, 0, 2, 7] 120",
                ])
            engine.report(.announced)
            connection.process()
            #expect(replies.take() == ["1 0", "0 0"] && !connection.isReadable)
            #expect(DNSServiceUpdateRecord(connection.pointer, first, 0, 4, [192, 0, 2, 8] as [UInt8], 9) == 0)
            #expect(engine.calls.last == #"records ["A [192, 0, 2, 8] 9"]"#)
            #expect(DNSServiceRemoveRecord(connection.pointer, first, 0) == 0 && engine.running.count == 1)
            engine.report(.failed(ServiceDiscoveryError(.collision)))
            connection.process()
            #expect(replies.take() == ["0 -65548"])
            DNSServiceRefDeallocate(connection.pointer)
            #expect(engine.running.isEmpty)
        }
    }
}
