import DNSServiceC
import EventLoops
import Testing

@testable import ServiceDiscovery

/// The functions of dns_sd.h on eight threads, with this machine's engine and its sockets: under a thread sanitizer, what threads share is examined.
@Suite(.timeLimit(.minutes(5)))
struct EngineThreadTests {
    private static let type = "_netkit-threads._tcp"
    private static let here = UInt32.max

    /// An operation, and what its callback has been told.
    private struct Operation {
        let replies = FunctionReplies()
        let reference: FunctionReference

        /// Begins an operation of its own, or one that shares a connection.
        init?(
            sharing connection: FunctionReference? = nil,
            _ begin: (UnsafeMutablePointer<DNSServiceRef?>, DNSServiceFlags, UnsafeMutableRawPointer) ->
                DNSServiceErrorType
        ) {
            let (flags, context) = (
                connection == nil ? 0 : DNSServiceFlags(kDNSServiceFlagsShareConnection), replies.context
            )
            let reference = FunctionReference { place in
                place.pointee = connection?.pointer
                return begin(place, flags, context)
            }
            guard let reference else { return nil }
            self.reference = reference
        }

        /// Processes replies, those of the connection if there is one, until one contains a text; false if that fails.
        func waits(for text: String, on connection: FunctionReference? = nil) -> Bool {
            while (connection ?? reference).process() == 0 {
                if replies.take().contains(where: { $0.contains(text) }) { return true }
            }
            return false
        }
    }

    /// Returns what has failed.
    private static func publishAndSearch(_ name: String) -> String? {
        let service = Operation { place, flags, context in
            DNSServiceRegister(
                place, flags, here, name, type, nil, nil, UInt16(80).bigEndian, 4, [3, 0x61, 0x3D, 0x31] as [UInt8],
                FunctionReplies.register, context)
        }
        guard let service, service.waits(for: " 0 \(name) ") else { return "register" }
        guard let connection = FunctionReference({ DNSServiceCreateConnection($0) }) else { return "connection" }
        let browser = Operation(sharing: connection) {
            DNSServiceBrowse($0, $1, here, type, nil, FunctionReplies.browse, $2)
        }
        guard let browser, browser.waits(for: " 0 \(name) ", on: connection) else { return "browse" }
        let resolver = Operation {
            DNSServiceResolve($0, $1, here, name, type, "local", FunctionReplies.resolve, $2)
        }
        guard let resolver, resolver.waits(for: " 80 [3, 97, 61, 49]") else { return "resolve" }

        // A further record, which changes and goes.
        let fullName = "\(name).\(type).local"
        let query = Operation(sharing: connection) {
            DNSServiceQueryRecord($0, $1, here, fullName, 10, 1, FunctionReplies.query, $2)
        }
        var record: DNSRecordRef?
        guard let query, DNSServiceAddRecord(service.reference.pointer, &record, 0, 10, 1, [7], 60) == 0,
            query.waits(for: "[7] 60", on: connection),
            DNSServiceUpdateRecord(service.reference.pointer, record, 0, 1, [8], 60) == 0,
            query.waits(for: "[8] 60", on: connection),
            DNSServiceRemoveRecord(service.reference.pointer, record, 0) == 0
        else { return "records" }

        // A record of another name on the connection, and the operations end in any order.
        let replies = FunctionReplies()
        guard
            DNSServiceRegisterRecord(
                connection.pointer, &record, DNSServiceFlags(kDNSServiceFlagsUnique), here, "\(name).local", 1, 1, 4,
                [192, 0, 2, 1], 60, FunctionReplies.record, replies.context) == 0
        else { return "record" }
        while replies.take().isEmpty { if connection.process() != 0 { return "connection" } }
        DNSServiceRefDeallocate(browser.reference.pointer)
        DNSServiceRefDeallocate(connection.pointer)
        return nil
    }

    @Test func eightThreadsPublishAndSearch() {
        let failures = Locked<[String]>([])
        let threads = (0..<8).map { number in
            TestThread {
                for round in 0..<3 {
                    guard let failure = Self.publishAndSearch("t\(number)r\(round)") else { continue }
                    failures.withLock { $0.append("\(failure) of thread \(number)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
    }
}
