internal import COpenSSL

/// Reads small files that may contain keys, without leaving copies of them in memory.
enum SecretFile {
    /// The largest file with certificates and keys, in bytes. The bundles of distributions have about 250 KiB.
    static let most = 4 << 20

    /// Returns the whole file. Pass the bytes to ``wipe(_:)`` after use.
    static func read(_ path: String) throws(StreamError) -> [UInt8] {
        try RegularFile.read(path, limit: most)
    }

    /// Overwrites the bytes, unless another array shares their storage.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }
}
