internal import CSockets
internal import Glibc

/// The calls for regular files: the number of bytes, or a negative `errno`. All but the last two wait for the disk.
extension Syscalls {
    /// `pread(2)`.
    package static func read(_ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int
    {
        result(pread(descriptor, buffer.baseAddress, buffer.count, off_t(position)))
    }

    /// `pwrite(2)`.
    package static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int {
        result(pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(position)))
    }

    /// `preadv2(2)` with `RWF_NOWAIT`: EAGAIN if the disk is needed, EOPNOTSUPP if the file system cannot tell.
    package static func readCached(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, at position: Int64
    ) -> Int {
        result(netkit_read_cached(descriptor, buffer.baseAddress, UInt(buffer.count), Int(position)))
    }

    /// `pwritev2(2)` with `RWF_NOWAIT`; errors as for reading.
    package static func writeCached(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int {
        result(netkit_write_cached(descriptor, bytes.baseAddress, UInt(bytes.count), Int(position)))
    }

    private static func result(_ count: Int) -> Int { count < 0 ? -Int(errno) : count }
}
