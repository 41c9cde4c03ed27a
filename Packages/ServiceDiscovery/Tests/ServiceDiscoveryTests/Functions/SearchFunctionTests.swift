import DNSServiceC
import DNSWire
import EventLoops
import HostResolver
import Testing

import struct DNSServiceEngine.ServiceEnvironment

@testable import ServiceDiscovery

/// The functions of dns_sd.h that search.
struct SearchFunctionTests {
    private let replies = FunctionReplies()
    private let engine = ScriptedEngine()
    private let type = DNSName("_http._tcp.local")!
    private let desk = DNSName("Büro\\032\\.\\0322._http._tcp.local")!

    private func browse(_ type: String = "_http._tcp", flags: Int = 0) -> FunctionReference? {
        FunctionReference {
            DNSServiceBrowse($0, DNSServiceFlags(flags), 0, type, nil, FunctionReplies.browse, replies.context)
        }
    }

    private func pointer(_ name: DNSName) -> DNSRecord { DNSRecord(type, timeToLive: 4_500, .ptr(name)) }

    @Test func aBrowserReportsServices() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            #expect(engine.questions == ["_http._tcp.local. PTR all"])
            #expect(!browser.isReadable)
            engine.set([pointer(desk)])
            #expect(browser.isReadable && replies.take() == [])
            #expect(browser.process() == 0 && !browser.isReadable)
            #expect(replies.take() == ["2 1 0 Büro . 2 _http._tcp. local."])
            engine.set([pointer(desk)], isPresent: false)
            #expect(browser.isReadable && browser.process() == 0 && !browser.isReadable)
            #expect(replies.take() == ["0 1 0 Büro . 2 _http._tcp. local."])
        }
    }

    /// The list of all types, on each interface.
    @Test(arguments: ["_services._dns-sd._udp", "_services._dns-sd._udp.", "_Services._DNS-SD._UDP"])
    func aBrowserListsTypes(type: String) throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse(type))
            #expect(engine.questions == ["_services._dns-sd._udp.local. PTR all"])
            let list = DNSName("_services._dns-sd._udp.local")!
            let record = DNSRecord(list, timeToLive: 4_500, .ptr(self.type))
            engine.set([record])
            engine.report(.added(record, interface: 2, named: "eth0"))
            browser.process()
            #expect(replies.take() == ["3 1 0 _http _tcp.local. .", "2 2 0 _http _tcp.local. ."])
            engine.set([record], isPresent: false)
            browser.process()
            #expect(replies.take() == ["0 1 0 _http _tcp.local. ."])
            engine.report(.unanswered(ServiceDiscoveryError(.lookupFailed)))
            #expect(!browser.isReadable)
        }
        ServiceEnvironment.with(engine) {
            #expect(browse(type + ",_sub") == nil && browse("_x." + type) == nil)
        }
    }

    @Test func moreComingMarksRepliesThatAreFollowed() throws {
        let names = (1...3).map { DNSName("\($0)._http._tcp.local")! }
        engine.set(names.map(pointer))
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            browser.process()
            #expect(replies.take().map { $0.prefix(1) } == ["3", "3", "2"])
        }
    }

    /// A reply whose type would be read as another one, or would end a text, is dropped.
    @Test func aTypeThatWouldBeMisreadIsDropped() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            for bad in ["_a.b", "_a\0b", "_a,b", "_a\\b", "_a b", "_a\n", "_a\u{7F}", "_a\u{1B}[2J"] {
                let labels = ["x", bad, "_tcp", "local"].map { Array($0.utf8) }
                engine.set([pointer(try #require(DNSName(labels: labels)))])
            }
            #expect(!browser.isReadable)
            engine.set([pointer(try #require(DNSName(labels: ["x", "_ü!", "_TCP", "local"].map { Array($0.utf8) })))])
            browser.process()
            #expect(replies.take() == ["2 1 0 x _ü!._tcp. local."])
        }
    }

    /// At most 64 replies are made at a time; the descriptor stays readable.
    @Test func aCallMakesABoundedNumberOfReplies() throws {
        engine.set((1...65).map { pointer(DNSName("\($0)._http._tcp.local")!) })
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            browser.process()
            #expect(replies.take().count == 64 && browser.isReadable)
            browser.process()
            #expect(replies.take().count == 1 && !browser.isReadable)
        }
    }

    @Test func aFailureIsReportedOnce() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            engine.report(.failed(ServiceDiscoveryError(.limitReached)))
            #expect(browser.isReadable)
            browser.process()
            #expect(replies.take() == ["0 0 -65553 - - -"] && !browser.isReadable)
        }
    }

    /// A failure says whether another reply waits, and has the index that the operation was given, as other replies do.
    @Test func aFailureHasMoreComingAndTheIndexOfItsOperation() throws {
        let (flags, here) = (DNSServiceFlags(kDNSServiceFlagsShareConnection), UInt32.max)
        let (domains, context) = (DNSServiceFlags(kDNSServiceFlagsBrowseDomains), replies.context)
        let searches: [(UnsafeMutablePointer<DNSServiceRef?>) -> DNSServiceErrorType] = [
            { DNSServiceBrowse($0, flags, here, "_http._tcp", nil, FunctionReplies.browse, context) },
            { DNSServiceEnumerateDomains($0, flags | domains, here, FunctionReplies.domains, context) },
            { DNSServiceResolve($0, flags, here, "a", "_http._tcp", nil, FunctionReplies.resolve, context) },
            { DNSServiceQueryRecord($0, flags, here, "a.local", 1, 1, FunctionReplies.query, context) },
            { DNSServiceGetAddrInfo($0, flags, here, 0, "a.local", FunctionReplies.address, context) },
        ]
        try ServiceEnvironment.with(engine) {
            for search in searches {
                let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
                for _ in 0..<2 {
                    var operation = connection.pointer
                    #expect(search(&operation) == 0)
                }
                // The domain that is known without a query.
                while connection.isReadable { connection.process() }
                _ = replies.take()
                engine.report(.failed(ServiceDiscoveryError(.limitReached)))
                connection.process()
                let heads = replies.take().map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
                #expect(heads == ["1 \(here) -65553", "0 \(here) -65553"])
            }
        }
    }

    /// Name servers that do not answer end no operation, and are no reply. They may answer later.
    @Test func anOperationWaitsForNameServers() throws {
        let failure = DiscoveryEvent.unanswered(ServiceDiscoveryError(.lookupFailed))
        let host = DNSName("desk.local")!
        try ServiceEnvironment.with(engine) {
            let record = try #require(query("desk.local", kDNSServiceType_A))
            let address = try #require(
                FunctionReference {
                    DNSServiceGetAddrInfo($0, 0, 0, 0, "desk.local", FunctionReplies.address, replies.context)
                })
            let browser = try #require(
                FunctionReference {
                    DNSServiceBrowse($0, 0, 0, "_http._tcp", "local", FunctionReplies.browse, replies.context)
                })
            for _ in 0..<2 { engine.report(failure) }
            #expect(!record.isReadable && !address.isReadable && !browser.isReadable && engine.running.count == 4)
            let service = DNSName("web._http._tcp.local")!
            engine.set([
                DNSRecord(host, timeToLive: 120, .a(IPv4Address(192, 0, 2, 7))),
                DNSRecord(DNSName("_http._tcp.local")!, timeToLive: 120, .ptr(service)),
            ])
            for operation in [record, address, browser] { operation.process() }
            #expect(
                replies.take() == [
                    "2 1 0 desk.local. 1 1 [192, 0, 2, 7] 120", "2 1 0 desk.local. 192.0.2.7 120",
                    "2 1 0 web _http._tcp. local.",
                ])
        }
    }

    /// A service that the name server does not have is no failure: it may have it later.
    @Test func aMissingServiceIsNoFailure() throws {
        let missing = DiscoveryEvent.unanswered(ServiceDiscoveryError(.notFound))
        let name = DNSName("web._http._tcp.local")!
        let host = DNSName("h.local")!
        try ServiceEnvironment.with(engine) {
            let location = try #require(query("web._http._tcp.local", kDNSServiceType_SRV))
            let resolver = try #require(
                FunctionReference {
                    DNSServiceResolve(
                        $0, 0, 0, "web", "_http._tcp", "local", FunctionReplies.resolve, replies.context)
                })
            engine.report(missing)
            location.process()
            #expect(replies.take() == ["2 0 -65554 web._http._tcp.local. 33 1 [] 0"] && !resolver.isReadable)
            // The same again is no change.
            engine.report(missing)
            #expect(!location.isReadable && !resolver.isReadable)
            engine.set([
                DNSRecord(name, timeToLive: 120, .txt([[0x61]])),
                DNSRecord(name, timeToLive: 120, .srv(priority: 0, weight: 0, port: 80, target: host)),
            ])
            resolver.process()
            #expect(replies.take().last == "0 1 0 web._http._tcp.local. h.local. 80 [1, 97]")
            // It comes from the name server, and goes again.
            let record = DNSRecord(name, timeToLive: 120, .srv(priority: 0, weight: 0, port: 81, target: host))
            engine.report(.added(record, interface: 0, named: nil))
            engine.report(.removed(record, interface: 0))
            engine.report(missing)
            location.process()
            #expect(replies.take().last == "2 0 -65554 web._http._tcp.local. 33 1 [] 0")
        }
    }

    @Test func aServiceIsResolvedWhenItsLocationAndTextAreKnown() throws {
        let host = DNSName("desk.local")!
        let location = DNSRecord(desk, timeToLive: 120, .srv(priority: 0, weight: 0, port: 80, target: host))
        let text = DNSRecord(desk, timeToLive: 4_500, .txt([[0x61]]))
        try ServiceEnvironment.with(engine) {
            let resolver = try #require(
                FunctionReference {
                    DNSServiceResolve(
                        $0, 0, 0, "Büro . 2", "_http._tcp.", "local.", FunctionReplies.resolve, replies.context)
                })
            engine.set([location])
            #expect(!resolver.isReadable)
            engine.set([text])
            resolver.process()
            let name = #"Büro\032\.\0322._http._tcp.local."#
            #expect(replies.take() == ["0 1 0 \(name) desk.local. 80 [1, 97]"] && !resolver.isReadable)
            // The same again is no change; another port is one.
            engine.set([text])
            #expect(!resolver.isReadable)
            engine.set([DNSRecord(desk, timeToLive: 120, .srv(priority: 0, weight: 0, port: 81, target: host))])
            engine.set([location], isPresent: false)
            resolver.process()
            #expect(replies.take() == ["0 1 0 \(name) desk.local. 81 [1, 97]"])
            // A service that goes and returns has the TXT record of its return.
            let other = DNSRecord(desk, timeToLive: 120, .srv(priority: 0, weight: 0, port: 81, target: host))
            engine.set([other, text], isPresent: false)
            engine.set([other])
            #expect(!resolver.isReadable)
            engine.set([DNSRecord(desk, timeToLive: 4_500, .txt([[0x62]]))])
            resolver.process()
            #expect(replies.take() == ["0 1 0 \(name) desk.local. 81 [1, 98]"])
        }
    }

    private func query(_ name: String, _ type: Int, flags: Int = 0, recordClass: UInt16 = 1) -> FunctionReference? {
        FunctionReference {
            DNSServiceQueryRecord(
                $0, DNSServiceFlags(flags), 0, name, UInt16(type), recordClass, FunctionReplies.query, replies.context)
        }
    }

    @Test func recordsAreReportedWithTheirData() throws {
        let host = DNSName("desk.local")!
        let address = DNSRecord(host, timeToLive: 120, .a(IPv4Address(192, 0, 2, 7)))
        try ServiceEnvironment.with(engine) {
            let operation = try #require(query("DESK.local", kDNSServiceType_A))
            engine.set([address])
            operation.process()
            #expect(replies.take() == ["2 1 0 desk.local. 1 1 [192, 0, 2, 7] 120"])
            engine.set([address], isPresent: false)
            operation.process()
            #expect(replies.take() == ["0 1 0 desk.local. 1 1 [192, 0, 2, 7] 0"])
            engine.report(.absent(interface: 1))
            operation.process()
            #expect(replies.take() == ["2 1 -65554 DESK.local. 1 1 [] 0"])
        }
        // Names in the data are whole.
        let service = DNSName("web._http._tcp.local")!
        engine.set([DNSRecord(service, timeToLive: 120, .srv(priority: 1, weight: 2, port: 80, target: host))])
        try ServiceEnvironment.with(engine) {
            let operation = try #require(query("web._http._tcp.local.", kDNSServiceType_SRV))
            operation.process()
            let data: [UInt8] = [0, 1, 0, 2, 0, 80, 4] + Array("desk".utf8) + [5] + Array("local".utf8) + [0]
            #expect(replies.take() == ["2 1 0 web._http._tcp.local. 33 1 \(data) 120"])
        }
    }

    @Test func theLinkIsAskedForForeignNamesOnRequest() throws {
        try ServiceEnvironment.with(engine) {
            let operation = try #require(
                query("desk.example", kDNSServiceType_A, flags: kDNSServiceFlagsForceMulticast))
            #expect(engine.questions == ["desk.example. A all"])
            withExtendedLifetime(operation) {}
        }
    }

    @Test func addressesAreReported() throws {
        let host = DNSName("desk.local")!
        func addresses(_ protocols: Int) -> FunctionReference? {
            FunctionReference {
                DNSServiceGetAddrInfo(
                    $0, 0, 0, DNSServiceProtocol(protocols), "desk.local", FunctionReplies.address, replies.context)
            }
        }
        engine.set([
            DNSRecord(host, timeToLive: 120, .a(IPv4Address(192, 0, 2, 7))),
            DNSRecord(host, timeToLive: 120, .aaaa(IPv6Address("fe80::7")!)),
        ])
        try ServiceEnvironment.with(engine) {
            let both = try #require(addresses(0))
            both.process()
            #expect(
                Set(replies.take().map { $0.dropFirst(2) })
                    == ["1 0 desk.local. 192.0.2.7 120", "1 0 desk.local. fe80::7%lo 120"])
            let (four, six) = (try #require(addresses(1)), try #require(addresses(2)))
            four.process()
            #expect(replies.take() == ["2 1 0 desk.local. 192.0.2.7 120"])
            engine.report(.absent(interface: 1))
            six.process()
            #expect(replies.take().last == "2 1 -65554 desk.local. :: 0")
        }
    }

    /// The time limit is up at once, and it is reported only if there was no answer.
    @Test func aQueryEndsAtItsTimeLimit() throws {
        try ServiceEnvironment.with(engine, timeout: .zero) {
            let operation = try #require(query("desk.local", kDNSServiceType_A, flags: kDNSServiceFlagsTimeout))
            // Waits for the timer.
            #expect(operation.process() == 0)
            #expect(replies.take() == ["0 0 -65568 desk.local. 1 1 [] 0"] && !operation.isReadable)
        }
    }

    /// A reply with an error has an address, whose family programs read.
    @Test(arguments: [(0, "0.0.0.0"), (1, "0.0.0.0"), (2, "::"), (3, "0.0.0.0")])
    func aFailedQueryHasAnAddressOfZeros(protocols: Int, shown: String) throws {
        func addresses(_ flags: Int) -> FunctionReference? {
            FunctionReference {
                DNSServiceGetAddrInfo(
                    $0, DNSServiceFlags(flags), 0, DNSServiceProtocol(protocols), "desk.local",
                    FunctionReplies.address, replies.context)
            }
        }
        try ServiceEnvironment.with(engine, timeout: .zero) {
            let late = try #require(addresses(kDNSServiceFlagsTimeout))
            #expect(late.process() == 0)
            #expect(replies.take() == ["0 0 -65568 desk.local. \(shown) 0"])
            let failed = try #require(addresses(0))
            engine.report(.failed(ServiceDiscoveryError(.limitReached)))
            failed.process()
            #expect(replies.take() == ["0 0 -65553 desk.local. \(shown) 0"])
        }
    }

    @Test func domainsAreEnumerated() throws {
        try ServiceEnvironment.with(engine) {
            func enumerate(_ flags: Int) -> FunctionReference? {
                FunctionReference {
                    DNSServiceEnumerateDomains(
                        $0, DNSServiceFlags(flags), 0, FunctionReplies.domains, replies.context)
                }
            }
            let operation = try #require(enumerate(kDNSServiceFlagsBrowseDomains))
            operation.process()
            #expect(replies.take() == ["6 0 0 local."])
            engine.set([
                DNSRecord(DNSName("b._dns-sd._udp.local")!, timeToLive: 120, .ptr(DNSName("example.org")!))
            ])
            operation.process()
            #expect(replies.take() == ["2 1 0 example.org."])
            #expect(enumerate(0) == nil)
            #expect(enumerate(kDNSServiceFlagsBrowseDomains | kDNSServiceFlagsRegistrationDomains) == nil)
        }
    }

    @Test func aRecordIsReconfirmed() {
        ServiceEnvironment.with(engine) {
            let data = desk.wireForm
            let status = DNSServiceReconfirmRecord(0, 0, "_http._tcp.local.", 12, 1, UInt16(data.count), data)
            #expect(status == 0 && engine.calls == ["reconfirm"])
            let onOne = DNSServiceReconfirmRecord(0, 1, "_http._tcp.local.", 12, 1, UInt16(data.count), data)
            #expect(onOne == 0 && engine.calls.last == "reconfirm on lo")
            #expect(DNSServiceReconfirmRecord(0, 0, "_http._tcp.local.", 1, 1, 3, data) == -65540)
        }
    }
}
