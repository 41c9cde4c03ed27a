internal import COpenSSL
internal import Glibc

/// Reads small files that may hold keys, so that nothing of them stays behind in memory.
enum SecretFile {
    /// Most bytes of a file with certificates and keys; the bundles of distributions have about 250 KiB.
    static let most = 4 << 20

    /// The whole file. Hand the bytes to ``wipe(_:)`` after use.
    static func read(_ path: String) throws(StreamError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StreamError(posix: errno, .fileNotOpened(path, errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw StreamError(posix: errno, .fileNotOpened(path, errno)) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= most else {
            let number = status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EFBIG
            throw StreamError(posix: number, .fileNotOpened(path, number))
        }
        // One allocation of the right size: growing would leave copies behind.
        var failure: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            while count < buffer.count, let start = buffer.baseAddress {
                let got = Glibc.read(descriptor, start + count, buffer.count - count)
                if got == 0 { break }
                if got > 0 {
                    count += got
                } else if errno != EINTR {
                    failure = errno
                    break
                }
            }
        }
        guard failure == 0 else { throw StreamError(posix: failure, .fileNotOpened(path, failure)) }
        return bytes
    }

    /// Overwrites the bytes, if nobody else holds them.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }
}
