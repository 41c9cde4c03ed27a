import DNSServiceC
import Foundation
import Testing

import struct DNSServiceEngine.ServiceEnvironment

@testable import ServiceDiscovery

/// NULL for each pointer that a function of dns_sd.h takes, unless its first argument is a reference: ArgumentTests has those. The table contains all,
/// which a test compares with the header.
struct MissingPointerTests {
    /// A function, the argument that is NULL, the result of the call, and the call.
    struct Row: CustomTestStringConvertible, Sendable {
        let function: String
        let argument: String
        let result: Int
        let call: @Sendable () -> Int

        init(_ function: String, _ argument: String, _ result: Int, _ call: @escaping @Sendable () -> Int) {
            (self.function, self.argument, self.result, self.call) = (function, argument, result, call)
        }

        var testDescription: String { "\(function) \(argument)" }
    }

    private static let bad = kDNSServiceErr_BadParam

    private static func property(_ name: String?, hasResult: Bool = true, hasSize: Bool = true) -> Int {
        var (version, size) = (UInt32(0), UInt32(4))
        return withUnsafeMutablePointer(to: &version) { version in
            withUnsafeMutablePointer(to: &size) { size in
                Int(DNSServiceGetProperty(name, hasResult ? version : nil, hasSize ? size : nil))
            }
        }
    }

    private static func fullName(_ service: String?, _ type: String?, _ domain: String?, hasBuffer: Bool = true) -> Int
    {
        var buffer = [CChar](repeating: 0, count: Int(kDNSServiceMaxDomainName))
        return buffer.withUnsafeMutableBufferPointer {
            Int(DNSServiceConstructFullName(hasBuffer ? $0.baseAddress : nil, service, type, domain))
        }
    }

    private static func withRecord(_ body: (UnsafeMutablePointer<TXTRecordRef>) -> Int) -> Int {
        var record = TXTRecordRef()
        return withUnsafeMutablePointer(to: &record) { record in
            TXTRecordCreate(record, 0, nil)
            defer { TXTRecordDeallocate(record) }
            return body(record)
        }
    }

    /// The item `a=b`.
    private static let bytes: [UInt8] = [3, 97, 61, 98]

    private static func item(_ text: [UInt8]?, hasKey: Bool = true, hasLength: Bool = true, hasValue: Bool = true)
        -> Int
    {
        var (key, length, value) = ([CChar](repeating: 0, count: 8), UInt8(0), UnsafeRawPointer?.none)
        return key.withUnsafeMutableBufferPointer { key in
            withUnsafeMutablePointer(to: &length) { length in
                withUnsafeMutablePointer(to: &value) { value in
                    Int(
                        TXTRecordGetItemAtIndex(
                            4, text, 0, 8, hasKey ? key.baseAddress : nil, hasLength ? length : nil,
                            hasValue ? value : nil))
                }
            }
        }
    }

    static let rows = [
        Row("DNSServiceGetProperty", "property", bad) { property(nil) },
        Row("DNSServiceGetProperty", "result", bad) { property(kDNSServiceProperty_DaemonVersion, hasResult: false) },
        Row("DNSServiceGetProperty", "size", bad) { property(kDNSServiceProperty_DaemonVersion, hasSize: false) },
        Row("DNSServiceReconfirmRecord", "fullname", bad) {
            Int(DNSServiceReconfirmRecord(0, 0, nil, 10, 1, 4, bytes))
        },
        Row("DNSServiceReconfirmRecord", "rdata", bad) {
            Int(DNSServiceReconfirmRecord(0, 0, "a.local", 10, 1, 4, nil))
        },
        Row("DNSServiceConstructFullName", "fullName", bad) { fullName("a", "_http._tcp", "local", hasBuffer: false) },
        Row("DNSServiceConstructFullName", "service", 0) { fullName(nil, "_http._tcp", "local") },
        Row("DNSServiceConstructFullName", "regtype", bad) { fullName("a", nil, "local") },
        Row("DNSServiceConstructFullName", "domain", bad) { fullName("a", "_http._tcp", nil) },
        Row("TXTRecordCreate", "txtRecord", 0) {
            TXTRecordCreate(nil, 0, nil)
            return 0
        },
        // A buffer that is missing has no bytes.
        Row("TXTRecordCreate", "buffer", 2) {
            withRecord { record in
                TXTRecordCreate(record, 100, nil)
                return Int(TXTRecordSetValue(record, "a", 0, nil)) + Int(TXTRecordGetLength(record))
            }
        },
        Row("TXTRecordDeallocate", "txtRecord", 0) {
            TXTRecordDeallocate(nil)
            return 0
        },
        Row("TXTRecordSetValue", "txtRecord", bad) { Int(TXTRecordSetValue(nil, "a", 1, bytes)) },
        Row("TXTRecordSetValue", "key", bad) { withRecord { Int(TXTRecordSetValue($0, nil, 1, bytes)) } },
        // The size of a value that is missing does not count.
        Row("TXTRecordSetValue", "value", 2) {
            withRecord { Int(TXTRecordSetValue($0, "a", 255, nil)) + Int(TXTRecordGetLength($0)) }
        },
        Row("TXTRecordRemoveValue", "txtRecord", bad) { Int(TXTRecordRemoveValue(nil, "a")) },
        Row("TXTRecordRemoveValue", "key", bad) { withRecord { Int(TXTRecordRemoveValue($0, nil)) } },
        Row("TXTRecordGetLength", "txtRecord", 0) { Int(TXTRecordGetLength(nil)) },
        Row("TXTRecordGetBytesPtr", "txtRecord", 0) { Int(bitPattern: TXTRecordGetBytesPtr(nil)) },
        Row("TXTRecordContainsKey", "txtRecord", 0) { Int(TXTRecordContainsKey(4, nil, "a")) },
        Row("TXTRecordContainsKey", "key", 0) { Int(TXTRecordContainsKey(4, bytes, nil)) },
        Row("TXTRecordGetValuePtr", "txtRecord", 0) { Int(bitPattern: TXTRecordGetValuePtr(4, nil, "a", nil)) },
        Row("TXTRecordGetValuePtr", "key", 0) { Int(bitPattern: TXTRecordGetValuePtr(4, bytes, nil, nil)) },
        Row("TXTRecordGetValuePtr", "valueLen", 98) {
            bytes.withUnsafeBytes { bytes in
                let value = TXTRecordGetValuePtr(4, bytes.baseAddress, "a", nil)
                return Int(value?.load(as: UInt8.self) ?? 0)
            }
        },
        Row("TXTRecordGetCount", "txtRecord", 0) { Int(TXTRecordGetCount(4, nil)) },
        Row("TXTRecordGetItemAtIndex", "txtRecord", bad) { item(nil) },
        Row("TXTRecordGetItemAtIndex", "key", bad) { item(bytes, hasKey: false) },
        Row("TXTRecordGetItemAtIndex", "valueLen", bad) { item(bytes, hasLength: false) },
        Row("TXTRecordGetItemAtIndex", "value", bad) { item(bytes, hasValue: false) },
    ]

    @Test(arguments: rows) func aPointerIsVerified(row: Row) {
        ServiceEnvironment.with(ScriptedEngine()) { #expect(row.call() == row.result) }
    }

    @Test func theTableIsComplete() throws {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let header = try String(
            contentsOf: package.appending(path: "Sources/DNSServiceC/include/dns_sd.h"), encoding: .utf8)
        let function = try Regex(
            #"DNSSD_API (\w+)\((?!\s*DNSServiceRef )([^;]*)\);"#, as: (Substring, Substring, Substring).self)
        let pointer = try Regex(#"\*+(?:const )?(\w+)(?=,|$)"#, as: (Substring, Substring).self)
        var declared: Set<String> = []
        for found in header.matches(of: function).map(\.output) {
            declared.formUnion(found.2.matches(of: pointer).map { "\(found.1) \($0.output.1)" })
        }
        #expect(Set(Self.rows.map(\.testDescription)) == declared && declared.count == Self.rows.count)
    }
}
