import Foundation
import ServiceDiscovery

/// Runs the file of TXT records of service discovery: decoding, and encoding to the same bytes again.
struct TXTRecordScorer: Scorer {
    func runs(file: String) -> Bool { file == "dnssd-txt.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let hex = row.text("input_hex"), let wire = Self.bytes(hex),
            let pairs = row.json["pairs"] as? [[Any]]
        else { return .notComparable(reason: "no bytes or no pairs") }
        let record = TXTRecord(wire: wire)
        let expected = pairs.map { pair in
            "\(pair.first ?? "")=\((pair.last as? String) ?? "none")"
        }
        let found = record.entries.map { entry in
            "\(entry.key)=\(entry.value.map(Self.hex) ?? "none")"
        }
        guard found == expected else { return .wrongFields(detail: found.joined(separator: " ")) }
        if row.flag("encode_should_roundtrip") == true, record.wireForm != wire {
            return .wrongFields(detail: "encoded as \(Self.hex(record.wireForm))")
        }
        // A decoded record can also be created from its entries.
        var copy = TXTRecord()
        do throws(ServiceDiscoveryError) {
            for entry in record.entries { try copy.set(entry.key, to: entry.value) }
        } catch {
            return .stricter(rule: error.code.rawValue)
        }
        return copy == record ? .agreed : .wrongFields(detail: "the record created from the same entries differs")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = Array(hex)
        guard digits.count % 2 == 0 else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
        return bytes.contains(nil) ? nil : bytes.compactMap { $0 }
    }
}
