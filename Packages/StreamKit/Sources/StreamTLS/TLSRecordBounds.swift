/// Finds where the records end in the bytes that a peer sends (RFC 8446 §5.1: a header of five bytes, of which the last two are the
/// length of what follows).
///
/// It only counts: a peer that does not speak TLS gets lengths without a meaning, and OpenSSL finds the fault.
struct TLSRecordBounds {
    private enum Position {
        /// Within a header: the number of its bytes so far, and the length as far as it is known.
        case header(Int, length: Int)
        /// Within a record: the number of bytes that remain.
        case record(Int)
    }

    private var position = Position.header(0, length: 0)

    /// Advances over the beginning of `bytes`, until `maximumRecords` records have ended or there are no more bytes.
    ///
    /// - Returns: the number of bytes in that beginning, and of the records that end there.
    mutating func advance(over bytes: RawSpan, maximumRecords: Int) -> (bytes: Int, records: Int) {
        var offset = 0
        var ended = 0
        while offset < bytes.byteCount, ended < maximumRecords {
            switch position {
            case .header(let count, let length):
                let byte = Int(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
                offset += 1
                let total = count < 3 ? 0 : length << 8 | byte
                if count < 4 {
                    position = .header(count + 1, length: total)
                } else if total > 0 {
                    position = .record(total)
                } else {
                    position = .header(0, length: 0)
                    ended += 1
                }
            case .record(let remaining):
                let step = min(remaining, bytes.byteCount - offset)
                offset += step
                if step < remaining {
                    position = .record(remaining - step)
                } else {
                    position = .header(0, length: 0)
                    ended += 1
                }
            }
        }
        return (offset, ended)
    }
}
