internal import DNSServiceC
internal import ServiceDiscovery

extension FuzzTarget {
    /// The functions of dns_sd.h for TXT records: any bytes are read, and a record is written by any calls.
    ///
    /// The first byte is the size of the record's buffer. Each call has a byte that selects the function, one with the length of the key, the
    /// key, one with the length of the value, and the value.
    static let txtRecordFunctions = FuzzTarget(name: "txt-record-functions") { bytes in
        verifyReading(bytes)
        guard let size = bytes.first else { return }
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            var record = TXTRecordRef()
            TXTRecordCreate(&record, UInt16(size), buffer.baseAddress)
            defer { TXTRecordDeallocate(&record) }
            write(&record, bytes.dropFirst())
        }
    }

    /// Performs the calls, and compares the record with one in Swift after each.
    private static func write(_ record: inout TXTRecordRef, _ calls: ArraySlice<UInt8>) {
        var (rest, model) = (calls, TXTRecord())
        func take() -> [UInt8]? {
            guard let count = rest.popFirst() else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        while let call = rest.popFirst(), let key = take(), let value = take() {
            // A program in C passes a text that ends with a NUL, of any bytes.
            let octets = key.prefix { $0 != 0 }
            let text = octets.map { CChar(bitPattern: $0) } + [0]
            let name = String(validating: octets, as: UTF8.self)
            switch call % 3 {
            case 0:
                let status = (value + [0]).withUnsafeBytes {
                    TXTRecordSetValue(&record, text, UInt8(value.count), $0.baseAddress)
                }
                set(&model, name, value, succeeds: status == 0)
            case 1: set(&model, name, nil, succeeds: TXTRecordSetValue(&record, text, 0, nil) == 0)
            default:
                let status = TXTRecordRemoveValue(&record, text)
                precondition((status == 0) == (name.map(model.contains) ?? false), "a key is removed if it exists")
                if let name { model.remove(name) }
            }
            let length = Int(TXTRecordGetLength(&record))
            let written = Array(UnsafeRawBufferPointer(start: TXTRecordGetBytesPtr(&record), count: length))
            // A key that is set again goes to the end.
            precondition(contents(TXTRecord(wire: written)) == contents(model), "the record has what was set")
            verifyReading(written)
        }
    }

    private static func set(_ model: inout TXTRecord, _ name: String?, _ value: [UInt8]?, succeeds: Bool) {
        let isSet = name.map { (try? model.set($0, to: value)) != nil } ?? false
        precondition(isSet == succeeds, "both accept the same keys and values")
    }

    private static func contents(_ record: TXTRecord) -> [String: [UInt8]?] {
        Dictionary(uniqueKeysWithValues: record.entries.map { ($0.key.lowercased(), $0.value) })
    }

    /// Reads bytes as a record, and compares what is found with the record in Swift.
    private static func verifyReading(_ bytes: [UInt8]) {
        let count = UInt16(clamping: bytes.count)
        for entry in TXTRecord(wire: bytes.prefix(Int(count))).entries {
            var size: UInt8 = 0
            precondition(TXTRecordContainsKey(count, bytes, entry.key) == 1, "each key is found")
            bytes.withUnsafeBytes { bytes in
                let value = TXTRecordGetValuePtr(count, bytes.baseAddress, entry.key, &size)
                let found = value.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(size))) }
                precondition(found == entry.value, "a key has its first value")
            }
        }
        let items = TXTRecordGetCount(count, bytes)
        var key = [CChar](repeating: 0, count: 256)
        for index in 0..<items {
            var (size, value) = (UInt8(0), UnsafeRawPointer?.none)
            precondition(
                TXTRecordGetItemAtIndex(count, bytes, index, 256, &key, &size, &value) == 0, "each item is read")
        }
        var (size, value) = (UInt8(0), UnsafeRawPointer?.none)
        precondition(
            TXTRecordGetItemAtIndex(count, bytes, items, 256, &key, &size, &value) != 0, "there are no more items")
    }
}
