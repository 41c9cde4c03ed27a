@_spi(Packages) internal import EventLoops
internal import Glibc
public import StreamKit

/// One compression or decompression by zlib. The library is loaded at run time, so programs that use no coded data do not need it.
///
/// Owns one `z_stream`. The struct below has zlib's layout, which has not changed since version 1.2 (2003).
@_spi(Compression)
public final class Zlib: @unchecked Sendable {
    // Unchecked: each object has one owner, which makes one call at a time: a load inside its lock, or the machine of a WebSocket,
    // which is a value inside its socket's lock.

    /// The format of the data.
    public enum Format: Sendable {
        /// RFC 1952, several members allowed.
        case gzip
        /// RFC 1950.
        case zlib
        /// RFC 1951 without a wrapper, with a window of 2 to the given power; zlib compresses with 9 to 15.
        case raw(windowBits: Int = 15)

        fileprivate var windowBits: CInt {
            switch self {
            case .gzip: 15 + 16
            case .zlib: 15
            case .raw(let bits): -CInt(max(8, min(15, bits)))
            }
        }
    }

    /// The direction of the conversion.
    private enum Direction {
        case inflating
        case deflating
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
        typealias InitializeInflate =
            @convention(c) (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>, CInt) -> CInt
        typealias InitializeDeflate =
            @convention(c) (
                UnsafeMutableRawPointer, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt
            ) -> CInt
        typealias Convert = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        typealias End = @convention(c) (UnsafeMutableRawPointer) -> CInt

        let initializeInflate: InitializeInflate
        let inflate: Convert
        let resetInflate: End
        let endInflate: End
        let initializeDeflate: InitializeDeflate
        let deflate: Convert
        let resetDeflate: End
        let endDeflate: End

        static let shared = LateValue(library: "libz.so.1") { handle, _ in handle.flatMap(Library.init) }

        private init?(_ handle: UnsafeMutableRawPointer) {
            guard let initializeInflate = dlsym(handle, "inflateInit2_"), let inflate = dlsym(handle, "inflate"),
                let resetInflate = dlsym(handle, "inflateReset"), let endInflate = dlsym(handle, "inflateEnd"),
                let initializeDeflate = dlsym(handle, "deflateInit2_"), let deflate = dlsym(handle, "deflate"),
                let resetDeflate = dlsym(handle, "deflateReset"), let endDeflate = dlsym(handle, "deflateEnd")
            else { return nil }
            self.initializeInflate = unsafeBitCast(initializeInflate, to: InitializeInflate.self)
            self.inflate = unsafeBitCast(inflate, to: Convert.self)
            self.resetInflate = unsafeBitCast(resetInflate, to: End.self)
            self.endInflate = unsafeBitCast(endInflate, to: End.self)
            self.initializeDeflate = unsafeBitCast(initializeDeflate, to: InitializeDeflate.self)
            self.deflate = unsafeBitCast(deflate, to: Convert.self)
            self.resetDeflate = unsafeBitCast(resetDeflate, to: End.self)
            self.endDeflate = unsafeBitCast(endDeflate, to: End.self)
        }
    }

    /// The results of `inflate` and `deflate`.
    private enum Answer {
        static let ok: CInt = 0
        static let end: CInt = 1
        static let noProgress: CInt = -5
    }

    /// `zlib.h`'s numbers.
    private enum Number {
        static let deflated: CInt = 8
        static let memoryLevel: CInt = 8
    }

    private let library: Library
    private let stream: UnsafeMutablePointer<Stream>
    private let direction: Direction
    /// The format of the data.
    public let format: Format

    /// Makes a decompression.
    ///
    /// - Throws: an error if zlib is not installed or has no memory.
    public convenience init(inflating format: Format) throws(StreamError) {
        try self.init(.inflating, format) { library, stream in
            library.initializeInflate(stream, format.windowBits, "1.2.11", CInt(MemoryLayout<Stream>.size))
        }
    }

    /// Makes a compression.
    ///
    /// - Parameter level: from 0, no compression, to 9, the best.
    /// - Throws: an error if zlib is not installed, has no memory, or does not support the window.
    public convenience init(deflating format: Format, level: Int) throws(StreamError) {
        try self.init(.deflating, format) { library, stream in
            library.initializeDeflate(
                stream, CInt(max(0, min(9, level))), Number.deflated, format.windowBits, Number.memoryLevel, 0,
                "1.2.11",
                CInt(MemoryLayout<Stream>.size))
        }
    }

    private init(
        _ direction: Direction, _ format: Format, _ initialize: (Library, UnsafeMutableRawPointer) -> CInt
    ) throws(StreamError) {
        guard let library = Library.shared.value else { throw .noZlib }
        self.library = library
        self.direction = direction
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: Stream())
        guard initialize(library, stream) == Answer.ok else {
            // The deinitializer runs: zlib ignores a stream without state.
            throw .noZlib
        }
    }

    deinit {
        switch direction {
        case .inflating: _ = library.endInflate(stream)
        case .deflating: _ = library.endDeflate(stream)
        }
        stream.deallocate()
    }

    /// Decompresses as much as input and output allow. Returns nil if the data are invalid.
    public func inflate(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) -> CodingStep? {
        convert(input, into: output) { library.inflate(stream, 0) }
    }

    /// What a compression puts out.
    public enum Flush: Sendable {
        /// As much as is compressed best; the rest remains inside.
        case none
        /// All bytes so far, so that a decompression produces all of the input.
        case sync
        /// All bytes, and the end of the data.
        case finish

        fileprivate var number: CInt {
            switch self {
            case .none: 0
            case .sync: 2
            case .finish: 4
            }
        }
    }

    /// Compresses as much as input and output allow. There may be more output if the step has filled the whole of `output`.
    /// Returns nil if zlib fails.
    public func deflate(
        _ input: RawSpan, into output: UnsafeMutableRawBufferPointer, flush: Flush = .sync
    ) -> CodingStep? {
        convert(input, into: output) { library.deflate(stream, flush.number) }
    }

    private func convert(
        _ input: RawSpan, into output: UnsafeMutableRawBufferPointer, _ call: () -> CInt
    ) -> CodingStep? {
        input.withUnsafeBytes { input -> CodingStep? in
            stream.pointee.nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.availableIn = UInt32(clamping: input.count)
            stream.pointee.nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.availableOut = UInt32(clamping: output.count)
            let answer = call()
            guard [Answer.ok, Answer.end, Answer.noProgress].contains(answer) else { return nil }
            let consumed = Int(UInt32(clamping: input.count) - stream.pointee.availableIn)
            let produced = Int(UInt32(clamping: output.count) - stream.pointee.availableOut)
            // Neither consumed nor produced a byte although both buffers were available: it never will.
            if consumed == 0, produced == 0, answer != Answer.end, !input.isEmpty { return nil }
            return CodingStep(consumed: consumed, produced: produced, hasEnded: answer == Answer.end)
        }
    }

    /// Starts again, for another member or without the bytes so far as context. Returns false if zlib cannot.
    public func restart() -> Bool {
        switch direction {
        case .inflating: library.resetInflate(stream) == Answer.ok
        case .deflating: library.resetDeflate(stream) == Answer.ok
        }
    }
}
