internal import CEventLoops
internal import Glibc

/// Calls of the system, which a signal may interrupt, and the text of their errors.
public enum SystemCall {
    /// Makes a call, and repeats it while it fails with `EINTR`.
    ///
    /// ```swift
    /// var buffer = [UInt8](repeating: 0, count: 4096)
    /// let count = SystemCall.retrying { read(STDIN_FILENO, &buffer, buffer.count) }
    /// ```
    ///
    /// - Parameter call: a call such as `read(2)`, which returns a negative number if it fails, and then sets `errno`.
    /// - Returns: the result of the last call; `errno` is that call's, too.
    public static func retrying<Count: SignedInteger>(_ call: () -> Count) -> Count {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    /// `preadv2(2)` with `RWF_NOWAIT`: reads what needs no disk.
    ///
    /// - Parameters:
    ///   - descriptor: an open file.
    ///   - buffer: where the bytes go.
    ///   - position: the offset in the file, in bytes.
    /// - Returns: the number of bytes, 0 at the end; or a negative `errno`: `EAGAIN` if the disk is needed; `EOPNOTSUPP`, `EINVAL` or
    ///   `ENOSYS` if the file system or the kernel cannot tell.
    public static func readCached(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, at position: Int64
    ) -> Int {
        let count = retrying {
            netkit_read_cached(descriptor, buffer.baseAddress, UInt(buffer.count), Int(position))
        }
        return count < 0 ? -Int(errno) : count
    }

    /// `pwritev2(2)` with `RWF_NOWAIT`: writes what needs no disk at once.
    ///
    /// - Parameters:
    ///   - descriptor: an open file.
    ///   - bytes: the bytes.
    ///   - position: the offset in the file, in bytes.
    /// - Returns: the number of bytes that were accepted; or a negative `errno`, as of ``readCached(_:into:at:)``.
    public static func writeCached(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at position: Int64
    ) -> Int {
        let count = retrying { netkit_write_cached(descriptor, bytes.baseAddress, UInt(bytes.count), Int(position)) }
        return count < 0 ? -Int(errno) : count
    }

    /// Passes all bytes to a call that accepts only a part of them at a time.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - call: a call such as `write(2)` for the rest of the bytes: it returns how many it has accepted, or a negative number, and then
    ///     sets `errno`. One that accepts none fails with `ENOSPC`.
    /// - Returns: nil if all bytes were accepted; otherwise the `errno` of the call that failed. A part of the bytes may have been
    ///   accepted before.
    public static func writing(
        all bytes: RawSpan, _ call: (_ rest: UnsafeRawBufferPointer, _ written: Int) -> Int
    ) -> CInt? {
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes { rest in
                retrying { call(rest, written) }
            }
            guard count >= 0 else { return errno }
            guard count > 0 else { return ENOSPC }
            written += count
        }
        return nil
    }

    /// The system's text for an `errno`.
    @_spi(Packages) public static func text(of number: CInt) -> String {
        // Unlike strerror(3), which may share its memory between threads.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: start)
        }
    }

    /// A call of the system that has failed.
    @_spi(Packages) public struct Failure: Error, Hashable, Sendable {
        /// The `errno`.
        public let number: CInt
    }

    /// Calls until there are as many bytes as wanted, or no more. They are in one allocation, and are overwritten if a call fails: they may
    /// be secret.
    ///
    /// - Parameters:
    ///   - limit: the number of bytes that are wanted.
    ///   - call: a call such as `read(2)` into the rest of the memory: it returns the number of bytes, 0 at the end, or a negative number, and
    ///     then sets `errno`.
    @_spi(Packages) public static func reading(
        upTo limit: Int, _ call: (_ rest: UnsafeMutableRawBufferPointer) -> Int
    ) throws(Failure) -> [UInt8] {
        var failure: CInt?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            while count < memory.count {
                let result = retrying { call(UnsafeMutableRawBufferPointer(rebasing: memory[count...])) }
                if result < 0 {
                    failure = errno
                    if let start = memory.baseAddress { explicit_bzero(start, memory.count) }
                    count = 0
                }
                if result <= 0 { return }
                count += result
            }
        }
        if let failure { throw Failure(number: failure) }
        return bytes
    }

    /// The first `limit` bytes of a file, of which the size need not be known, as with those of proc(5). Does not wait for the other end of
    /// a FIFO.
    @_spi(Packages) public static func contents(of path: String, limit: Int = .max) throws(Failure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let wanted = min(64 * 1024, limit - bytes.count)
            let piece = try reading(upTo: wanted) { read(descriptor, $0.baseAddress, $0.count) }
            bytes += piece
            if piece.count < wanted { break }
        }
        return bytes
    }
}
