import DNSServiceC
import ServiceDiscovery
import Testing

/// The functions of dns_sd.h for TXT records.
struct TextRecordFunctionTests {
    /// A record, whose buffer of 16 bytes is soon too small.
    private final class Record {
        private let pointer = UnsafeMutablePointer<TXTRecordRef>.allocate(capacity: 1)
        private let buffer = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 1)

        init(bufferSize: UInt16 = 16) { TXTRecordCreate(pointer, bufferSize, bufferSize == 0 ? nil : buffer) }

        deinit {
            TXTRecordDeallocate(pointer)
            pointer.deallocate()
            buffer.deallocate()
        }

        var bytes: [UInt8] {
            Array(UnsafeRawBufferPointer(start: TXTRecordGetBytesPtr(pointer), count: Int(TXTRecordGetLength(pointer))))
        }
        func set(_ key: String, _ value: [UInt8]?) -> Int {
            guard let value else { return Int(TXTRecordSetValue(pointer, key, 0, nil)) }
            // An empty array has no address.
            return (value + [0]).withUnsafeBytes {
                Int(TXTRecordSetValue(pointer, key, UInt8(value.count), $0.baseAddress))
            }
        }
        func remove(_ key: String) -> Int { Int(TXTRecordRemoveValue(pointer, key)) }
        /// Sets a key to its own value in the record.
        func setAgain(_ key: String) -> Int {
            var size: UInt8 = 0
            let value = TXTRecordGetValuePtr(
                TXTRecordGetLength(pointer), TXTRecordGetBytesPtr(pointer), key, &size)
            return Int(TXTRecordSetValue(pointer, key, size, value))
        }
    }

    /// The items of a record's bytes; nil for a value that is not there.
    private func items(_ bytes: [UInt8]) -> [(key: String, value: [UInt8]?)] {
        let count = TXTRecordGetCount(UInt16(bytes.count), bytes)
        return (0..<count).map { index in
            var (key, size, value) = ([CChar](repeating: 1, count: 256), UInt8(0), UnsafeRawPointer?.none)
            let status = bytes.withUnsafeBytes { buffer in
                TXTRecordGetItemAtIndex(
                    UInt16(buffer.count), buffer.baseAddress, index, UInt16(key.count), &key, &size, &value)
            }
            #expect(status == 0)
            let name = String(decoding: key.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return (name, value.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(size))) })
        }
    }

    @Test func aRecordIsWritten() {
        let record = Record()
        #expect(record.bytes == [] && record.set("txtvers", [0x31]) == 0 && record.set("a", nil) == 0)
        #expect(record.set("b", []) == 0)
        #expect(record.bytes == Array("\u{9}txtvers=1\u{1}a\u{2}b=".utf8))
        // The case of a key does not matter; a value that is replaced goes to the end.
        #expect(record.set("TXTVERS", [0x32]) == 0 && record.bytes == Array("\u{1}a\u{2}b=\u{9}TXTVERS=2".utf8))
        #expect(record.setAgain("txtvers") == 0 && record.bytes == Array("\u{1}a\u{2}b=\u{9}txtvers=2".utf8))
        #expect(record.remove("A") == 0 && record.remove("A") == kDNSServiceErr_NoSuchKey)
        #expect(record.bytes == Array("\u{2}b=\u{9}txtvers=2".utf8))
    }

    @Test(arguments: ["", "=", "a=b", "\u{7F}", "\u{1F}", "é", String(repeating: "k", count: 256)])
    func invalidKeys(key: String) {
        let record = Record()
        #expect(record.set(key, [1]) == kDNSServiceErr_Invalid && record.bytes == [])
        #expect(record.remove(key) == kDNSServiceErr_NoSuchKey)
    }

    @Test(arguments: [UInt16(0), 16]) func limits(bufferSize: UInt16) {
        let record = Record(bufferSize: bufferSize)
        #expect(record.set("k", [UInt8](repeating: 7, count: 253)) == 0 && record.bytes.count == 256)
        #expect(record.set("kk", [UInt8](repeating: 7, count: 253)) == kDNSServiceErr_Invalid)
        #expect(record.set(String(repeating: "k", count: 255), nil) == 0)
        for index in 0..<253 { #expect(record.set("\(1000 + index)", [UInt8](repeating: 7, count: 250)) == 0) }
        let full = record.bytes
        #expect(full.count == 65_280)
        #expect(record.set("more", [UInt8](repeating: 7, count: 250)) == kDNSServiceErr_NoMemory)
        #expect(record.bytes == full && record.set("1000", [UInt8](repeating: 8, count: 250)) == 0)
    }

    @Test func arguments() {
        var (key, size, value) = ([CChar](repeating: 0, count: 2), UInt8(0), UnsafeRawPointer?.none)
        let bytes = Array("\u{4}ab=c\u{1}d".utf8)
        #expect(TXTRecordSetValue(nil, "a", 0, nil) == kDNSServiceErr_BadParam)
        #expect(TXTRecordRemoveValue(nil, "a") == kDNSServiceErr_BadParam)
        #expect(TXTRecordGetCount(7, nil) == 0 && TXTRecordContainsKey(7, nil, "a") == 0)
        #expect(TXTRecordGetItemAtIndex(7, bytes, 0, 2, &key, &size, &value) == kDNSServiceErr_NoMemory)
        #expect(TXTRecordGetItemAtIndex(7, bytes, 1, 2, &key, &size, &value) == 0 && value == nil && size == 0)
        #expect(TXTRecordGetItemAtIndex(7, bytes, 2, 2, &key, &size, &value) == kDNSServiceErr_Invalid)
        #expect(TXTRecordGetItemAtIndex(7, bytes, 1, 2, nil, &size, &value) == kDNSServiceErr_BadParam)
        #expect(TXTRecordContainsKey(7, bytes, "AB") == 1 && TXTRecordContainsKey(7, bytes, "a") == 0)
        #expect(TXTRecordGetValuePtr(7, bytes, "d", &size) == nil && TXTRecordGetValuePtr(7, bytes, "ab", nil) != nil)
    }

    /// The same changes of a record and of a list of items, and the same record for this package's own type.
    @Test func randomChanges() {
        var generator = SystemRandomNumberGenerator()
        let keys = ["a", "B", "txtvers", "path", "x y", "~"]
        for _ in 0..<200 {
            let record = Record(bufferSize: [0, 7, 16].randomElement(using: &generator)!)
            var model: [(key: String, value: [UInt8]?)] = []
            for _ in 0..<40 {
                let key = keys.randomElement(using: &generator)!
                let spelled = Bool.random(using: &generator) ? key.uppercased() : key
                let index = model.firstIndex { $0.key.lowercased() == key.lowercased() }
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    #expect(record.remove(spelled) == (index == nil ? kDNSServiceErr_NoSuchKey : 0))
                    if let index { model.remove(at: index) }
                    continue
                }
                let size = Int.random(in: 0..<60, using: &generator)
                let value = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
                let new = Bool.random(using: &generator) ? value : nil
                #expect(record.set(spelled, new) == 0)
                if let index { model.remove(at: index) }
                model.append((spelled, new))
            }
            let found = items(record.bytes)
            #expect(found.map(\.key) == model.map(\.key) && found.map(\.value) == model.map(\.value))
            if !model.isEmpty { #expect(TXTRecord(wire: record.bytes).wireForm == record.bytes) }
        }
    }

    /// Any bytes are read without leaving them; an item that does not fit ends the record.
    @Test func randomBytes() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let size = Int.random(in: 0..<60, using: &generator)
            let bytes = (0..<size).map { _ in UInt8.random(in: 0..<12, using: &generator) }
            let found = items(bytes)
            let lengths = found.map { 1 + $0.key.utf8.count + ($0.value.map { $0.count + 1 } ?? 0) }
            #expect(lengths.reduce(0, +) <= bytes.count)
        }
    }
}
