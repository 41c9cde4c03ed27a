internal import EventLoops
internal import Glibc

/// A descriptor that is not a socket: a pipe, a terminal, a device.
///
/// The descriptor may be borrowed, so its flags are never changed. Instead, `poll(2)` tells before each call whether it
/// would wait.
final class DescriptorTransport: StreamTransport {
    /// POSIX guarantees room for this many bytes in a pipe that is reported writable.
    private static let safeWrite = 4096

    let waitPoint: WaitPoint

    init(_ point: WaitPoint) {
        waitPoint = point
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if Syscalls.ready(waitPoint.descriptor, for: .readable).isEmpty { return .wouldBlock(.readable) }
        return try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.read(waitPoint.descriptor, into: bytes)
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if Syscalls.ready(waitPoint.descriptor, for: .writable).isEmpty { return .wouldBlock(.writable) }
        return try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
            try Syscalls.write(
                waitPoint.descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(DescriptorTransport.safeWrite)))
        }
    }

    func peek() throws(StreamError) -> Attempt {
        Syscalls.ready(waitPoint.descriptor, for: .readable).isEmpty ? .wouldBlock(.readable) : .moved(1)
    }

    func writability() throws(StreamError) -> Attempt {
        Syscalls.ready(waitPoint.descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
    }
}
