@_spi(Packages) internal import EventLoops
internal import Glibc

/// One decompression by Zstandard (RFC 8878). The library is loaded at run time, so that programs without coded data do not need it.
///
/// Owns one `ZSTD_DStream`. The window is limited to 8 MiB, as for the content coding (RFC 9659).
final class Zstandard: @unchecked Sendable {
    // Unchecked: each object has one owner, a load, which makes one call at a time inside its lock.

    /// `ZSTD_inBuffer` and `ZSTD_outBuffer`.
    private struct Buffer {
        var memory: UnsafeRawPointer?
        var size: Int
        var position: Int
    }

    private struct Library: Sendable {
        typealias Create = @convention(c) () -> OpaquePointer?
        typealias Set = @convention(c) (OpaquePointer, CInt, CInt) -> Int
        typealias Decompress = @convention(c) (OpaquePointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int
        typealias IsError = @convention(c) (Int) -> CUnsignedInt
        typealias Destroy = @convention(c) (OpaquePointer) -> Int

        let create: Create
        let set: Set
        let decompress: Decompress
        let isError: IsError
        let destroy: Destroy

        static let shared = LateValue(library: "libzstd.so.1") { handle, _ in handle.flatMap(Library.init) }

        private init?(_ handle: UnsafeMutableRawPointer) {
            guard let create = dlsym(handle, "ZSTD_createDStream"),
                let set = dlsym(handle, "ZSTD_DCtx_setParameter"),
                let decompress = dlsym(handle, "ZSTD_decompressStream"), let isError = dlsym(handle, "ZSTD_isError"),
                let destroy = dlsym(handle, "ZSTD_freeDStream")
            else { return nil }
            self.create = unsafeBitCast(create, to: Create.self)
            self.set = unsafeBitCast(set, to: Set.self)
            self.decompress = unsafeBitCast(decompress, to: Decompress.self)
            self.isError = unsafeBitCast(isError, to: IsError.self)
            self.destroy = unsafeBitCast(destroy, to: Destroy.self)
        }
    }

    /// `zstd.h`'s numbers.
    private enum Number {
        static let windowLogMax: CInt = 100
        /// The logarithm of the largest window, 8 MiB.
        static let windowLog: CInt = 23
    }

    /// The first byte of each frame, also of those to skip, is one of two ranges (RFC 8878 §3.1).
    static func beginsFrame(_ byte: UInt8) -> Bool { byte == 0x28 || (0x50...0x5f).contains(byte) }

    /// Whether the library is installed.
    static var isAvailable: Bool { Library.shared.value != nil }

    private let library: Library
    private let stream: OpaquePointer

    /// Makes a decompression; nil if the library is not installed, is too old, or has no memory.
    init?() {
        guard let library = Library.shared.value, let stream = library.create() else { return nil }
        self.library = library
        self.stream = stream
        // The deinitializer frees the stream.
        if library.isError(library.set(stream, Number.windowLogMax, Number.windowLog)) != 0 { return nil }
    }

    deinit { _ = library.destroy(stream) }

    /// Decompresses as much as input and output allow. A frame may follow an ended one. Returns nil if the data are invalid, or need a
    /// larger window.
    func decode(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) -> CodingStep? {
        input.withUnsafeBytes { input in
            var source = Buffer(memory: input.baseAddress, size: input.count, position: 0)
            var target = Buffer(memory: UnsafeRawPointer(output.baseAddress), size: output.count, position: 0)
            let rest = library.decompress(stream, &target, &source)
            if library.isError(rest) != 0 { return nil }
            return CodingStep(consumed: source.position, produced: target.position, hasEnded: rest == 0)
        }
    }
}
