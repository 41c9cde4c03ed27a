public import Foundation
internal import ServiceDiscovery

extension NetService {
    /// The record of these keys and values, for ``setTXTRecord(_:)``.
    ///
    /// Keys are printable ASCII without `=`, and differ in more than case; a key and its value take at most 254 bytes together,
    /// and the whole 65,535 with a byte for each; 1,300 are advised.
    ///
    /// - Returns: no bytes if a rule is broken, which ``setTXTRecord(_:)`` refuses; `TXTRecord(dictionary:)` says which rule it is.
    public class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
        data(fromTXTRecord: txtDictionary.mapValues { Optional($0) })
    }

    /// The same with keys that have no value, which is not the same as an empty one: nil for those.
    @_disfavoredOverload
    public class func data(fromTXTRecord txtDictionary: [String: Data?]) -> Data {
        let record = try? TXTRecord(dictionary: txtDictionary.mapValues { $0.map { [UInt8]($0) } })
        return record.map { Data($0.wireForm) } ?? Data()
    }

    /// The keys and values of a record: of a key that comes twice, in whatever case, the first; a damaged end is left out. A key
    /// without a value has empty data here; `TXTRecord(wire:)` tells the two apart.
    public class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
        TXTRecord(wire: txtData).dictionary.mapValues { Data($0 ?? []) }
    }
}
