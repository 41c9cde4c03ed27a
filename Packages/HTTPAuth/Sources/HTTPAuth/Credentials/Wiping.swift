internal import CLibcrypto

extension [UInt8] {
    /// Overwrites the bytes and empties the array. It reaches those of this array only: a copy that was made keeps its own.
    mutating func wipe() {
        withUnsafeMutableBytes { if let address = $0.baseAddress { OPENSSL_cleanse(address, $0.count) } }
        removeAll()
    }
}
