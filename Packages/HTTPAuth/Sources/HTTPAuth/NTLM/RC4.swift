/// The RC4 stream cipher: NTLM hands its session key over with it and signs with it. Broken for everything else.
struct RC4 {
    private var table: [UInt8] = (0...255).map { UInt8($0) }
    private var i: UInt8 = 0
    private var j: UInt8 = 0

    /// Begins a stream with a key of 1 to 256 bytes.
    init(key: [UInt8]) {
        precondition((1...256).contains(key.count), "an RC4 key has 1 to 256 bytes")
        var j: UInt8 = 0
        for place in 0..<256 {
            j &+= table[place] &+ key[place % key.count]
            table.swapAt(place, Int(j))
        }
    }

    /// The bytes under the next part of the stream: encrypted if they were plain, plain if they were encrypted.
    mutating func apply(to bytes: [UInt8]) -> [UInt8] {
        bytes.map { byte in
            i &+= 1
            j &+= table[Int(i)]
            table.swapAt(Int(i), Int(j))
            return byte ^ table[Int(table[Int(i)] &+ table[Int(j)])]
        }
    }

    /// Forgets the stream; it cannot be used any more.
    mutating func wipe() {
        table.wipe()
    }
}
