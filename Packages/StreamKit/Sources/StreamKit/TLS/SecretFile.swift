internal import COpenSSL

/// Reads small files that may hold keys, so that nothing of them stays behind in memory.
enum SecretFile {
    /// Most bytes of a file with certificates and keys; the bundles of distributions have about 250 KiB.
    static let most = 4 << 20

    /// The whole file. Hand the bytes to ``wipe(_:)`` after use.
    static func read(_ path: String) throws(StreamError) -> [UInt8] {
        try RegularFile.read(path, limit: most)
    }

    /// Overwrites the bytes, if nobody else holds them.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }
}
