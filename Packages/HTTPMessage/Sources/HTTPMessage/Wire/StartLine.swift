/// The parts of a start line and their positions.
///
/// Packed into four words so that messages can be copied in registers.
struct StartLine: BitwiseCopyable {
    /// The method of a request.
    var first = ByteRange()
    /// The target of a request, or the (possibly empty) reason phrase of a response.
    var second = ByteRange()
    /// The line without its line ending.
    var line = ByteRange()
    private var versionAndStatus: UInt64

    @inline(__always)
    init(version: HTTPVersion = .http11, status: UInt16? = nil) {
        versionAndStatus = 0
        self.version = version
        self.status = status
    }

    var version: HTTPVersion {
        @inline(__always)
        get {
            HTTPVersion(
                unchecked: UInt8(truncatingIfNeeded: versionAndStatus >> 40),
                UInt8(truncatingIfNeeded: versionAndStatus >> 32))
        }
        @inline(__always)
        set {
            versionAndStatus =
                versionAndStatus & 0xFFFF | UInt64(newValue.major) << 40 | UInt64(newValue.minor) << 32
        }
    }

    /// The status code of a response. Nil for a request.
    var status: UInt16? {
        @inline(__always)
        get {
            let status = UInt16(truncatingIfNeeded: versionAndStatus)
            return status == 0 ? nil : status
        }
        @inline(__always)
        set { versionAndStatus = versionAndStatus & ~0xFFFF | UInt64(newValue ?? 0) }
    }

    /// A range of bytes, packed into one word.
    struct ByteRange: BitwiseCopyable {
        private var packed: UInt64 = 0

        @inline(__always)
        init() {}

        @inline(__always)
        init(_ start: Int, _ end: Int) {
            packed = UInt64(UInt32(truncatingIfNeeded: start)) | UInt64(truncatingIfNeeded: end) << 32
        }

        var start: Int {
            @inline(__always)
            get { Int(packed & 0xFFFF_FFFF) }
        }

        var end: Int {
            @inline(__always)
            get { Int(packed >> 32) }
        }

        var range: Range<Int> {
            @inline(__always)
            get { Range(uncheckedBounds: (start, end)) }
        }

        /// Returns the range of the same bytes relative to `origin`.
        func relative(to origin: Int) -> ByteRange {
            ByteRange(start - origin, end - origin)
        }
    }
}
