/// Writes values in DER.
enum DERWriter {
    /// Returns a value: its tag, minimal length and contents.
    static func value(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        var length = [UInt8(truncatingIfNeeded: contents.count)]
        if contents.count >= 0x80 {
            length = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: contents.count >> $0) }
            length = Array(length.drop { $0 == 0 })
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + contents
    }
}
