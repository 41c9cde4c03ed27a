/// The index of each stream in an array, by the identifier of the stream: a hash table with open addressing.
struct StreamIndexMap: Sendable {
    private struct Bucket: BitwiseCopyable {
        /// ``StreamID/connection`` if the bucket is free.
        var stream: StreamID
        var index: UInt32

        static let free = Bucket(stream: .connection, index: 0)
    }

    /// At most half of the buckets are used.
    private var buckets = [Bucket](repeating: .free, count: 16)

    /// The number of streams.
    private(set) var count = 0

    /// Returns the index of a stream, or nil if it is not in the map.
    @inline(__always)
    func index(of stream: StreamID) -> Int? {
        var bucket = firstBucket(of: stream)
        while true {
            let entry = buckets[bucket]
            if entry.stream == stream, stream != .connection { return Int(entry.index) }
            if entry.stream == .connection { return nil }
            bucket = (bucket &+ 1) & (buckets.count &- 1)
        }
    }

    /// Adds a stream, which is not in the map.
    mutating func insert(_ stream: StreamID, index: Int) {
        count += 1
        if count * 2 > buckets.count { grow() }
        enter(Bucket(stream: stream, index: UInt32(index)))
    }

    /// Removes a stream, which is in the map.
    mutating func remove(_ stream: StreamID) {
        let mask = buckets.count - 1
        var hole = firstBucket(of: stream)
        while buckets[hole].stream != stream { hole = (hole + 1) & mask }
        // Later entries of the same run move forward, unless that would put them before their first bucket.
        var bucket = (hole + 1) & mask
        while buckets[bucket].stream != .connection {
            if (bucket - firstBucket(of: buckets[bucket].stream)) & mask >= (bucket - hole) & mask {
                buckets[hole] = buckets[bucket]
                hole = bucket
            }
            bucket = (bucket + 1) & mask
        }
        buckets[hole] = .free
        count -= 1
    }

    /// Multiplication spreads identifiers that follow each other, also with a step. A peer that knows it can choose identifiers with the same
    /// bucket: as many as there are streams, at most.
    func firstBucket(of stream: StreamID) -> Int {
        // The product as a fraction of 2^32, of all buckets.
        let product = UInt64(stream.rawValue &* 0x61C8_8647)
        return Int(truncatingIfNeeded: (product &* UInt64(truncatingIfNeeded: buckets.count)) &>> 32)
    }

    private mutating func enter(_ entry: Bucket) {
        var bucket = firstBucket(of: entry.stream)
        while buckets[bucket].stream != .connection { bucket = (bucket + 1) & (buckets.count - 1) }
        buckets[bucket] = entry
    }

    private mutating func grow() {
        let entries = buckets
        buckets = [Bucket](repeating: .free, count: entries.count * 2)
        for entry in entries where entry.stream != .connection { enter(entry) }
    }
}
