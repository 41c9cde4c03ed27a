@_spi(Packages) internal import EventLoops
internal import Glibc

/// One decompression by brotli (RFC 7932). The library is loaded at run time, so that programs without coded data do not need it.
///
/// Owns one `BrotliDecoderState`.
final class Brotli: @unchecked Sendable {
    // Unchecked: each object has one owner, a load, which makes one call at a time inside its lock.

    private struct Library: Sendable {
        typealias Create = @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> OpaquePointer?
        typealias Decompress =
            @convention(c) (
                OpaquePointer, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>,
                UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
                UnsafeMutablePointer<Int>?
            ) -> CInt
        typealias Destroy = @convention(c) (OpaquePointer) -> Void

        let create: Create
        let decompress: Decompress
        let destroy: Destroy

        static let shared = LateValue(library: "libbrotlidec.so.1") { handle, _ in handle.flatMap(Library.init) }

        private init?(_ handle: UnsafeMutableRawPointer) {
            guard let create = dlsym(handle, "BrotliDecoderCreateInstance"),
                let decompress = dlsym(handle, "BrotliDecoderDecompressStream"),
                let destroy = dlsym(handle, "BrotliDecoderDestroyInstance")
            else { return nil }
            self.create = unsafeBitCast(create, to: Create.self)
            self.decompress = unsafeBitCast(decompress, to: Decompress.self)
            self.destroy = unsafeBitCast(destroy, to: Destroy.self)
        }
    }

    /// The results of `BrotliDecoderDecompressStream`.
    private enum Answer {
        static let error: CInt = 0
        static let success: CInt = 1
    }

    /// Whether the library is installed.
    static var isAvailable: Bool { Library.shared.value != nil }

    private let library: Library
    private let state: OpaquePointer

    /// Makes a decompression; nil if the library is not installed or has no memory.
    init?() {
        guard let library = Library.shared.value, let state = library.create(nil, nil, nil) else { return nil }
        self.library = library
        self.state = state
    }

    deinit { library.destroy(state) }

    /// Decompresses as much as input and output allow. Returns nil if the data are invalid.
    func decode(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) -> CodingStep? {
        input.withUnsafeBytes { input in
            var (availableIn, availableOut) = (input.count, output.count)
            var nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let answer = library.decompress(state, &availableIn, &nextIn, &availableOut, &nextOut, nil)
            if answer == Answer.error { return nil }
            return CodingStep(
                consumed: input.count - availableIn, produced: output.count - availableOut,
                hasEnded: answer == Answer.success)
        }
    }
}
