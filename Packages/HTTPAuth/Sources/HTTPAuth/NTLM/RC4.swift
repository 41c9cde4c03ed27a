/// The RC4 stream cipher. NTLM encrypts its session key and signatures with it; it is broken for every other purpose.
struct RC4 {
    private var table: [UInt8] = (0...255).map { UInt8($0) }
    private var i: UInt8 = 0
    private var j: UInt8 = 0

    /// Creates a cipher with a key of 1 to 256 bytes.
    init(key: [UInt8]) {
        precondition((1...256).contains(key.count), "an RC4 key has 1 to 256 bytes")
        var j: UInt8 = 0
        for index in 0..<256 {
            j &+= table[index] &+ key[index % key.count]
            table.swapAt(index, Int(j))
        }
    }

    /// Encrypts or decrypts the next bytes of the stream.
    mutating func apply(to bytes: [UInt8]) -> [UInt8] {
        bytes.map { byte in
            i &+= 1
            j &+= table[Int(i)]
            table.swapAt(Int(i), Int(j))
            return byte ^ table[Int(table[Int(i)] &+ table[Int(j)])]
        }
    }

    /// Wipes the state. The cipher cannot be used afterwards.
    mutating func wipe() {
        table.wipe()
    }
}
