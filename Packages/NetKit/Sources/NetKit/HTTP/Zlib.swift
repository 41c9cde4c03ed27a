internal import Glibc
internal import StreamKit

/// One decompression by zlib, which is found at run time: nobody who does not ask for decoded bodies needs it.
///
/// Owns one `z_stream`. The struct below has zlib's layout, which has not changed since version 1.2 (2003).
final class Zlib: @unchecked Sendable {
    // Used only inside the lock of the load that made it.

    /// How the data are wrapped.
    enum Format {
        /// RFC 1952, several members allowed.
        case gzip
        /// RFC 1950.
        case zlib
        /// RFC 1951 without a wrapper, as some servers send it under the name of deflate.
        case raw

        fileprivate var windowBits: CInt {
            switch self {
            case .gzip: 15 + 16
            case .zlib: 15
            case .raw: -15
            }
        }
    }

    /// What one step did.
    struct Step {
        var consumed: Int
        var produced: Int
        /// The data have ended; what follows is not part of them.
        var hasEnded: Bool
    }

    private struct Stream {
        var nextIn: UnsafePointer<UInt8>?
        var availableIn: UInt32 = 0
        var totalIn: UInt = 0
        var nextOut: UnsafeMutablePointer<UInt8>?
        var availableOut: UInt32 = 0
        var totalOut: UInt = 0
        var message: UnsafePointer<CChar>?
        var state: OpaquePointer?
        var allocate: OpaquePointer?
        var free: OpaquePointer?
        var opaque: OpaquePointer?
        var dataType: CInt = 0
        var checksum: UInt = 0
        var reserved: UInt = 0
    }

    private struct Library: Sendable {
        typealias Initialize =
            @convention(c) (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>, CInt) -> CInt
        typealias Inflate = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        typealias End = @convention(c) (UnsafeMutableRawPointer) -> CInt

        let initialize: Initialize
        let inflate: Inflate
        let reset: End
        let end: End

        static let shared = Library()

        private init?() {
            guard let handle = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL),
                let initialize = dlsym(handle, "inflateInit2_"), let inflate = dlsym(handle, "inflate"),
                let reset = dlsym(handle, "inflateReset"), let end = dlsym(handle, "inflateEnd")
            else { return nil }
            self.initialize = unsafeBitCast(initialize, to: Initialize.self)
            self.inflate = unsafeBitCast(inflate, to: Inflate.self)
            self.reset = unsafeBitCast(reset, to: End.self)
            self.end = unsafeBitCast(end, to: End.self)
        }
    }

    /// zlib's numbers for what `inflate` answers.
    private enum Answer {
        static let ok: CInt = 0
        static let end: CInt = 1
        static let noProgress: CInt = -5
    }

    private let library: Library
    private let stream: UnsafeMutablePointer<Stream>
    /// How the data are wrapped.
    let format: Format

    /// True if the library is installed.
    static var isAvailable: Bool { Library.shared != nil }

    /// - Throws: if zlib is not installed, or has no memory.
    init(_ format: Format) throws(StreamError) {
        guard let library = Library.shared else { throw .noZlib }
        self.library = library
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: Stream())
        guard library.initialize(stream, format.windowBits, "1.2.11", CInt(MemoryLayout<Stream>.size)) == Answer.ok
        else {
            stream.deallocate()
            throw .noZlib
        }
    }

    deinit {
        _ = library.end(stream)
        stream.deallocate()
    }

    /// Decompresses as much as input and output allow; nil if the data are not what they should be.
    func step(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) -> Step? {
        input.withUnsafeBytes { input -> Step? in
            stream.pointee.nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.availableIn = UInt32(clamping: input.count)
            stream.pointee.nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.availableOut = UInt32(clamping: output.count)
            let answer = library.inflate(stream, 0)
            guard [Answer.ok, Answer.end, Answer.noProgress].contains(answer) else { return nil }
            let consumed = Int(UInt32(clamping: input.count) - stream.pointee.availableIn)
            let produced = Int(UInt32(clamping: output.count) - stream.pointee.availableOut)
            // Neither used nor gave anything, with both at hand: it never will.
            if consumed == 0, produced == 0, answer != Answer.end, !input.isEmpty { return nil }
            return Step(consumed: consumed, produced: produced, hasEnded: answer == Answer.end)
        }
    }

    /// Begins anew, for another member; false if zlib cannot.
    func restart() -> Bool {
        library.reset(stream) == Answer.ok
    }
}
