@_spi(Packages) internal import EventLoops
internal import Glibc
@_spi(Packages) public import HTTPStream

/// Serves the files of a folder: conditional requests, ranges, media types, index files.
///
/// ```swift
/// router.files("/*path", try StaticFiles("/srv/www"))
/// ```
///
/// `ETag` and `Last-Modified` are sent with each file, and `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`
/// and `If-Range` are evaluated as RFC 9110 §13.2.2 requires. One range is sent as it is, several as `multipart/byteranges`; more
/// than 16 ranges, and ranges that overlap, are ignored. The path of a folder ends with `/`, to which a path without it is
/// redirected; its index file is sent, or a 404: folders are not listed.
///
/// Not served, as if missing: symbolic links, and files below them; names that begin with a dot, except `.well-known` (RFC 8615);
/// everything but regular files; paths with `..`. The folder itself may be a symbolic link.
///
/// Files are opened, read and compressed on the threads for files of the folder's device (`BlockingThreads.files(of:)`), so a slow
/// disk delays only the clients that want its files. A request for which no thread or no descriptor is free gets a 503.
public struct StaticFiles: Sendable {
    /// The names that are tried for a folder, in order. Default `index.html`.
    public var indexNames = ["index.html"]

    /// The value of `Cache-Control`; nil, the default, for none.
    public var cacheControl: String?

    /// The time limit of each access to the disk. Default 30 s; then the response is 503, or is cut short if it has begun.
    public var fileTimeout: Duration = .seconds(30)

    private let root: FileDescriptor

    /// Opens a folder. If its path is replaced later, the folder that was opened continues to be served.
    ///
    /// - Throws: the error of the system.
    public init(_ folder: String) throws(StreamError) {
        try self.init(folder, threads: nil)
    }

    /// - Parameter threads: the threads for the files; nil for those of the folder's device.
    init(_ folder: String, threads: BlockingThreads?) throws(StreamError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            throw StreamError(
                posix: number,
                Sentence("kit.folder", "%1 cannot be opened: %2", folder, "\(StreamError(posix: number))"))
        }
        root = FileDescriptor(descriptor, threads: threads)
    }

    /// Responds with the file at a path.
    ///
    /// - Parameters:
    ///   - call: The request, with `GET` or `HEAD`.
    ///   - path: The decoded path below the folder, without a `/` at its beginning.
    /// - Throws: a 404 for a missing file; an ``HTTPProblem`` for failed conditions and ranges; the error of the connection.
    public func respond(to call: RoutedExchange, path: String) async throws {
        guard let path = FilePath(path) else { throw HTTPProblem(.notFound) }
        switch try await opened(path.components) {
        case .missing: throw HTTPProblem(.notFound)
        case .file(let file):
            if path.isFolder { throw HTTPProblem(.notFound) }
            try await send(file, MediaType.ofFile(path.components.last ?? ""), to: call)
        case .folder:
            guard path.isFolder else { return try await redirectToFolder(call) }
            for name in indexNames {
                guard case .file(let file) = try await opened(path.components + [name]) else { continue }
                return try await send(file, MediaType.ofFile(name), to: call)
            }
            throw HTTPProblem(.notFound)
        }
    }

    /// Opens a path below the folder.
    ///
    /// - Throws: a 503 if no thread or descriptor is free, or the disk is too slow.
    private func opened(_ components: [String]) async throws -> OpenedFile.Result {
        do {
            return try await onDisk { [root] () throws(StreamError) in
                try OpenedFile.open(components, below: root)
            }
        } catch let error as StreamError where error.isPOSIX(EMFILE) || error.isPOSIX(ENFILE) {
            throw HTTPProblem(.serviceUnavailable)
        }
    }

    /// Makes a call on a file.
    ///
    /// - Throws: the error of the call; a 503 if there is no thread, or the call takes too long; `CancellationError`.
    private func onDisk<Value: Sendable>(
        _ call: @escaping @Sendable () throws(StreamError) -> Value
    ) async throws -> Value {
        do throws(StreamError) {
            return try await root.threads.fileResult(within: fileTimeout, of: call)
        } catch .cancelled {
            throw CancellationError()
        } catch {
            if error.reason == .unansweredCall { throw HTTPProblem(.serviceUnavailable) }
            throw error
        }
    }

    /// Redirects to the path with a `/` at its end, so that the relative references in an index file are right.
    private func redirectToFolder(_ call: RoutedExchange) async throws {
        let target = call.request.target
        // A path that begins with // would be taken for a host.
        guard let path = target.path, !path.hasPrefix("//") else { throw HTTPProblem(.notFound) }
        try await call.redirect(to: path + "/" + (target.query.map { "?\($0)" } ?? ""), .permanentRedirect)
    }

    private func send(_ file: OpenedFile, _ type: String, to call: RoutedExchange) async throws {
        var response = try HTTPResponse(status: .ok)
        try response.fields.set(file.tag.description, for: .entityTag)
        try response.fields.set(file.lastModified.description, for: .lastModified)
        if let cacheControl { try response.fields.set(cacheControl, for: .cacheControl) }
        let request = call.request
        let outcome = Preconditions.evaluate(
            request.method, request.fields, .init(tag: file.tag, lastModified: file.lastModified),
            now: HTTPDate(secondsSinceEpoch: Int64(time(nil))))
        switch outcome {
        case .preconditionFailed: throw HTTPProblem(.preconditionFailed)
        case .notModified:
            // The fields that a 200 would have (RFC 9110 §15.4.5), including Vary.
            try response.fields.set(type, for: .contentType)
            _ = try call.compressed(&response, length: file.length)
            response.fields.remove(.contentType)
            response.fields.remove(.contentEncoding)
            try await call.exchange.respond(.notModified, fields: response.fields)
        case .perform(let honoursRange):
            try response.fields.set("bytes", for: .acceptRanges)
            try response.fields.set("nosniff", for: "X-Content-Type-Options")
            let ranges = ByteRanges.parse(honoursRange ? request.fields[.range] : nil, length: file.length)
            try await send(file, type, ranges, response, to: call)
        }
    }

    private func send(
        _ file: OpenedFile, _ type: String, _ ranges: ByteRanges, _ response: HTTPResponse, to call: RoutedExchange
    ) async throws {
        var response = response
        let exchange = call.exchange
        if case .parts(let parts) = ranges {
            let boundary = String(UInt64.random(in: .min ... .max), radix: 36)
            let multipart = MultipartRanges(parts, type: type, length: file.length, boundary: boundary)
            // Several ranges can be longer together than the whole file.
            if parts.count == 1 || multipart.byteCount < file.length {
                let fields = response.fields
                response = try HTTPResponse(status: .partialContent)
                response.fields = fields
                if call.compression != nil, MediaType.isCompressible(type) {
                    try ContentCoding.vary(&response.fields)
                }
                if parts.count == 1 {
                    try response.fields.set(type, for: .contentType)
                    try response.fields.set(ByteRanges.field(parts[0], of: file.length), for: .contentRange)
                    try await exchange.begin(response, length: Int64(parts[0].count))
                    return try await write(file, parts[0], to: exchange)
                }
                try response.fields.set(multipart.contentType, for: .contentType)
                try await exchange.begin(response, length: multipart.byteCount)
                for (head, range) in multipart.parts {
                    try await exchange.write(head)
                    try await write(file, range, to: exchange)
                }
                return try await exchange.write(multipart.end)
            }
        }
        if ranges == .unsatisfiable {
            var problem = HTTPProblem(.rangeNotSatisfiable)
            try problem.fields.set("bytes */\(file.length)", for: .contentRange)
            throw problem
        }
        try response.fields.set(type, for: .contentType)
        let compression = try call.compressed(&response, length: file.length)
        try await exchange.begin(response, length: compression == nil ? file.length : nil)
        if exchange.request.method == .head { return }
        try await write(file, 0..<file.length, to: exchange, compression)
    }

    private func write(
        _ file: OpenedFile, _ range: Range<Int64>, to exchange: HTTPServerExchange,
        _ compression: ResponseCompression? = nil
    ) async throws {
        let pieces = try FilePieces(file, range, level: compression?.level)
        while true {
            // A piece in memory needs neither a thread nor the disk.
            if let piece = pieces.cached() {
                try await exchange.write(piece)
                continue
            }
            guard let piece = try await onDisk({ () throws(StreamError) in try pieces.next() }) else { return }
            try await exchange.write(piece)
        }
    }
}

/// The components of a path below a folder.
struct FilePath: Hashable {
    let components: [String]
    /// Whether the path ends with `/`, or is empty.
    let isFolder: Bool

    /// Returns nil for a path that is never served: with an empty component, a NUL, or a name that begins with a dot, which
    /// includes `.` and `..`. `.well-known` is allowed as the first component.
    init?(_ path: String) {
        if path.utf8.contains(0) { return nil }
        // Split by bytes, as the system does: in text, a `/` beside a combining mark is part of another character.
        var parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        isFolder = parts.last == ""
        if isFolder { parts.removeLast() }
        for (index, part) in parts.enumerated() {
            if part.isEmpty || part.utf8.first == UInt8(ascii: ".") && !(index == 0 && part == ".well-known") {
                return nil
            }
        }
        components = parts
    }
}
