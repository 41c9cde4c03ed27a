internal import CLibcrypto

extension [UInt8] {
    /// Overwrites the bytes and empties the array. Copies of the array are not overwritten.
    mutating func wipe() {
        withUnsafeMutableBytes { if let address = $0.baseAddress { OPENSSL_cleanse(address, $0.count) } }
        removeAll()
    }
}
