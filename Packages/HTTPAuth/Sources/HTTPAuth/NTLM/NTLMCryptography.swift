internal import CLibcrypto

/// The MD4 digest (RFC 1320). Windows stores passwords this way; it is broken for every other purpose.
///
/// OpenSSL 3 provides MD4 only in its legacy provider, which many machines lack. NTLM requires it.
enum MD4 {
    /// Returns the 16-byte digest of `message`. All copies of the message made here are wiped.
    static func digest(of message: [UInt8]) -> [UInt8] {
        // Section 3.1: a one bit, zeros up to 8 bytes before the end of a block, then the length in bits.
        var padded = message
        padded.reserveCapacity(message.count + 72)
        padded.append(0x80)
        padded.append(contentsOf: repeatElement(0, count: (120 - padded.count % 64) % 64))
        padded.append(littleEndian: UInt64(truncatingIfNeeded: message.count) << 3)
        var block = [UInt32](repeating: 0, count: 16)
        defer {
            padded.wipe()
            for index in block.indices { block[index] = 0 }
        }
        var state: State = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476)
        for start in stride(from: 0, to: padded.count, by: 64) {
            for word in 0..<16 {
                block[word] = (0..<4).reduce(0) { $0 | UInt32(padded[start + word * 4 + $1]) << UInt32(8 * $1) }
            }
            mix(block, into: &state)
        }
        var digest: [UInt8] = []
        for word in [state.0, state.1, state.2, state.3] { digest.append(littleEndian: word) }
        return digest
    }

    private typealias State = (UInt32, UInt32, UInt32, UInt32)

    /// Section 3.4: each round's constant, the order of the words, and the four rotations it cycles through.
    private static let rounds: [(constant: UInt32, order: [Int], rotations: [UInt32])] = [
        (0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [3, 7, 11, 19]),
        (0x5a82_7999, [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15], [3, 5, 9, 13]),
        (0x6ed9_eba1, [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], [3, 9, 11, 15]),
    ]

    /// Processes one block. Each step changes one of the four words; rotating their names lets one line do all 48
    /// steps.
    private static func mix(_ block: [UInt32], into state: inout State) {
        var (a, b, c, d) = state
        for (number, round) in rounds.enumerated() {
            for step in 0..<16 {
                let chosen =
                    switch number {
                    case 0: (b & c) | (~b & d)
                    case 1: (b & c) | (b & d) | (c & d)
                    default: b ^ c ^ d
                    }
                let sum = a &+ chosen &+ block[round.order[step]] &+ round.constant
                let rotation = round.rotations[step % 4]
                (a, b, c, d) = (d, sum << rotation | sum >> (32 - rotation), b, c)
            }
        }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d)
    }
}

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

/// MD5 and HMAC-MD5 of the system's libcrypto. Neither is available in FIPS mode, and then NTLM is not either.
enum NTLMDigests {
    static func md5(_ parts: [UInt8]...) throws(HTTPAuthError) -> [UInt8] {
        LibcryptoSetup.perform()
        var message = parts.flatMap { $0 }
        defer { message.wipe() }
        var digest = [UInt8](repeating: 0, count: 16)
        var count = digest.count
        guard EVP_Q_digest(nil, "MD5", nil, message, message.count, &digest, &count) == 1, count == 16 else {
            throw .ntlmUnavailable
        }
        return digest
    }

    static func hmacMD5(key: [UInt8], _ parts: [UInt8]...) throws(HTTPAuthError) -> [UInt8] {
        LibcryptoSetup.perform()
        var message = parts.flatMap { $0 }
        defer { message.wipe() }
        var code = [UInt8](repeating: 0, count: 16)
        var count = 0
        let found = EVP_Q_mac(
            nil, "HMAC", nil, "MD5", nil, key, key.count, message, message.count, &code, code.count, &count)
        guard found != nil, count == 16 else { throw .ntlmUnavailable }
        return code
    }
}
