public import FoundationEssentials
internal import Glibc
public import HTTPMessage
public import StreamKit

extension HTTPSession {
    /// Loads the resource of a URL into a file. See ``download(_:to:resuming:within:progress:)-(HTTPRequest,_,_,_,_)``.
    ///
    /// ```swift
    /// let response = try await session.download(url, to: "film.mkv", resuming: true) { progress in
    ///     print(progress.received, "of", progress.toReceive ?? 0)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL, `http` or `https`.
    ///   - path: The path of the file.
    ///   - resuming: Whether the rest of an earlier download is loaded.
    ///   - timeout: The time limit of the download; nil for ``Configuration/totalTimeout``.
    ///   - progress: Called while bytes are received, on any thread.
    public func download(
        _ url: URL, to path: String, resuming: Bool = false, within timeout: Duration? = nil,
        progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(StreamError) -> HTTPResponse {
        let request: HTTPRequest
        do throws(HTTPMessageError) {
            request = try HTTPRequest(method: .get, url: url)
        } catch {
            throw StreamError(error)
        }
        return try await download(request, to: path, resuming: resuming, within: timeout, progress: progress)
    }

    /// Loads a resource into a file.
    ///
    /// The bytes are written to a file beside it, with the suffix `.part`, which gets its name when it is complete: an existing file
    /// is replaced only by a complete one. After an error, the `.part` file remains. If ``Configuration/retries`` permits, the rest is
    /// requested after a lost connection.
    ///
    /// With `resuming`, a `.part` file of an earlier call is completed if the server's resource is unchanged since then
    /// (`If-Range`, RFC 9110 §13.1.5), by its `Last-Modified`, which is the modification time of the file; otherwise the
    /// download begins again. Without a `.part` file, a complete file is kept in the same way: the request is for the bytes after its
    /// end, and the response 416 says that there are none. The file has the bytes of the resource, without a content coding that the server might otherwise use.
    ///
    /// - Parameters:
    ///   - request: The request, without a body and without `Range` and `If-Range`.
    ///   - path: The path of the file.
    ///   - resuming: Whether the rest of an earlier download is loaded.
    ///   - timeout: The time limit of the download; nil for ``Configuration/totalTimeout``. ``Configuration/readTimeout`` limits the wait
    ///     for each piece.
    ///   - progress: Called while bytes are received, on any thread. With `resuming`, the bytes of earlier calls are included.
    /// - Returns: The response. Its `isFileComplete` says whether the file is complete: the response then has no body, and the status
    ///   200 or 206, or 416 if an earlier call had received everything. Other responses, such as 304 and 404, do not change the
    ///   file, and contain at most 64 KiB of their body.
    /// - Throws: The error of the load or of the file; `EINVAL` for a request with a body or one of the fields named above.
    public func download(
        _ request: HTTPRequest, to path: String, resuming: Bool = false, within timeout: Duration? = nil,
        progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(StreamError) -> HTTPResponse {
        guard request.body.isEmpty, !request.fields.contains(.range), !request.fields.contains(.ifRange) else {
            throw .notDownloadable
        }
        var options = LoadOptions(timeout: timeout ?? configuration.effectiveTimeout, time: configuration.time)
        options.permitsDecoding = false
        #if Metrics || Tracing
        return try await observing(request, options) { (request, options) throws(StreamError) in
            try await download(request, to: path, resuming, options, progress)
        }
        #else
        return try await download(request, to: path, resuming, options, progress)
        #endif
    }

    private func download(
        _ request: HTTPRequest, to path: String, _ resuming: Bool, _ options: LoadOptions,
        _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) -> HTTPResponse {
        var file = PartialFile(path, resuming: resuming)
        var download = DownloadState(file.kept, isWhole: file.isWhole)
        var retries = 0
        while true {
            do throws(StreamError) {
                return try await attempt(&download, request, &file, options, &retries, progress)
            } catch {
                if download.offset > 0, let date = download.lastModified { file.date(date) }
                guard download.isResumable, configuration.retries.permits(request, nil),
                    let pause = configuration.retries.delay(
                        after: error, retries: retries, random: .random(in: 0...1)),
                    leavesTime(pause, options)
                else { throw error }
                retries += 1
                do { try await configuration.time.sleep(for: pause) } catch { throw .cancelled }
            }
        }
    }

    private func attempt(
        _ download: inout DownloadState, _ request: HTTPRequest, _ file: inout PartialFile, _ options: LoadOptions,
        _ retries: inout Int, _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) -> HTTPResponse {
        let stream = try await openRetrying(try download.request(for: request), nil, options, &retries)
        defer { stream.close() }
        var response = try await stream.response()
        switch try download.begin(response) {
        case .leaveFile:
            response.body = try await body(of: stream, upTo: 1 << 16)
        case .complete:
            try file.finish()
            response.isFileComplete = true
        case .again:
            stream.close()
            return try await attempt(&download, request, &file, options, &retries, progress)
        case .write:
            try file.begin(at: download.offset)
            var reported = HTTPProgress()
            reported.toReceive = download.length ?? stream[.httpBodyLength]
            reported.received = download.offset
            var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
            try stream.set(.readTimeout, to: stream[.readTimeout] ?? configuration.readTimeout)
            do throws(StreamError) {
                while case let count = try await stream.read(into: &piece), count > 0 {
                    try file.write(piece.span.bytes.extracting(..<count))
                    download.offset += Int64(count)
                    reported.received = download.offset
                    progress?(reported)
                    try StreamError.checkCancellation()
                }
            } catch {
                throw error.with(stream.report)
            }
            if let length = download.length, length != download.offset { throw .wrongPart }
            if let date = download.lastModified { file.date(date) }
            try file.finish()
            response.isFileComplete = true
        }
        return response
    }

    /// Reads the beginning of a body.
    private func body(of stream: ReadStream, upTo limit: Int) async throws(StreamError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        try stream.set(.readTimeout, to: stream[.readTimeout] ?? configuration.readTimeout)
        while bytes.count < limit, case let count = try await stream.read(into: &piece), count > 0 {
            bytes += piece[..<min(count, limit - bytes.count)]
        }
        return bytes
    }
}

/// The state of a download: what has been written, and how the rest is requested. No I/O.
struct DownloadState: Sendable {
    /// What to do with a response.
    enum Action: Hashable, Sendable {
        /// Write the body at ``DownloadState/offset``.
        case write
        /// The file is complete.
        case complete
        /// The response is no part of the file.
        case leaveFile
        /// Send another request: the kept part is not that of the resource.
        case again
    }

    /// The number of bytes of the resource that the file contains.
    var offset: Int64
    /// The strong validator of these bytes for `If-Range`; nil if the rest cannot be requested.
    private(set) var validator: String?
    /// The length of the resource that is being completed; nil if the framing of the response alone determines the end.
    private(set) var length: Int64?
    /// The date of the resource, if it is a strong validator.
    private(set) var lastModified: HTTPDate?

    /// Whether the file is that of a complete download, to which nothing can be added.
    private var isWhole: Bool

    /// - Parameters:
    ///   - kept: the bytes of an earlier download, and the date of their resource.
    ///   - isWhole: whether that download was complete.
    init(_ kept: (count: Int64, date: HTTPDate)?, isWhole: Bool = false) {
        self.isWhole = isWhole && kept != nil
        offset = kept?.count ?? 0
        lastModified = kept?.date
        validator = kept?.date.description
    }

    /// Whether the rest can be requested.
    var isResumable: Bool { offset > 0 && validator != nil }

    /// Returns the request for the rest; for everything, if the rest cannot be requested.
    mutating func request(for whole: HTTPRequest) throws(StreamError) -> HTTPRequest {
        guard let validator, offset > 0 else {
            offset = 0
            return whole
        }
        var request = whole
        do throws(HTTPMessageError) {
            try request.fields.set("bytes=\(offset)-", for: .range)
            try request.fields.set(validator, for: .ifRange)
        } catch {
            throw StreamError(error)
        }
        return request
    }

    /// Decides about a response.
    mutating func begin(_ response: HTTPResponse) throws(StreamError) -> Action {
        let tag = response.strongEntityTag
        switch response.status.code {
        case 200: (offset, length) = (0, nil)
        case 206 where isWhole:
            // The file is shorter than the resource although it was complete.
            (validator, isWhole) = (nil, false)
            return .again
        case 206:
            // The server has compared the validator; a part of another version would nevertheless be a broken file.
            guard isResumable, let whole = DownloadState.length(of: response, whoseRestBeginsAt: offset),
                tag == nil || validator?.hasPrefix("\"") != true || tag == validator
            else { throw .wrongPart }
            length = whole
        case 416 where isResumable:
            if DownloadState.completeLength(of: response) == offset { return .complete }
            validator = nil
            return .again
        default: return .leaveFile
        }
        isWhole = false
        lastModified = response.strongLastModified
        validator = tag ?? lastModified?.description
        return .write
    }

    /// The length of the resource in `Content-Range: bytes 10-19/20`; nil unless the range goes from the offset to the end, since a
    /// part of the rest would be taken for the whole of it.
    private static func length(of response: HTTPResponse, whoseRestBeginsAt offset: Int64) -> Int64? {
        guard let range = response.fields[.contentRange]?.utf8.split(separator: UInt8(ascii: " ")).last,
            let dash = range.firstIndex(of: UInt8(ascii: "-")), let slash = range.firstIndex(of: UInt8(ascii: "/")),
            dash < slash,
            let last = Int64(Substring(range[range.index(after: dash)..<slash])), last >= offset,
            let length = Int64(Substring(range[slash...].dropFirst())), length > last
        else { return nil }
        return Int64(Substring(range[..<dash])) == offset && length - last == 1 ? length : nil
    }

    /// The length in `Content-Range: bytes */20`.
    private static func completeLength(of response: HTTPResponse) -> Int64? {
        response.fields[.contentRange]?.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { Int64(Substring($0)) }
    }
}

/// A file under construction, beside the one that it replaces when it is complete.
struct PartialFile: ~Copyable {
    private let path: String
    private var descriptor: CInt?
    /// The bytes of an earlier download and the date of their resource.
    let kept: (count: Int64, date: HTTPDate)?
    /// Whether these are the file itself, since there is no partial one.
    let isWhole: Bool

    private var partialPath: String { path + ".part" }

    /// - Parameter resuming: whether to keep the bytes of an earlier download.
    init(_ path: String, resuming: Bool) {
        self.path = path
        var status = stat()
        let hasPart = lstat(path + ".part", &status) == 0
        isWhole = !hasPart && stat(path, &status) == 0
        // A date with a fraction is that of the last write, not one set by ``date(_:)``.
        kept =
            resuming && (hasPart || isWhole) && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
                && status.st_size > 0 && status.st_mtim.tv_nsec == 0
            ? (Int64(status.st_size), HTTPDate(secondsSinceEpoch: Int64(status.st_mtim.tv_sec))) : nil
    }

    deinit {
        if let descriptor { close(descriptor) }
    }

    /// Prepares to write at an offset, and cuts off everything after it. The file is created if the offset is 0.
    mutating func begin(at offset: Int64) throws(StreamError) {
        let descriptor = if let opened = descriptor { opened } else { try openFile(isNew: offset == 0) }
        self.descriptor = descriptor
        guard ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else {
            throw .unwritableFile(partialPath, errno)
        }
    }

    /// Opens a new file, or an existing one that belongs to the user and is no link: others may write in the folder.
    private func openFile(isNew: Bool) throws(StreamError) -> CInt {
        if isNew { unlink(partialPath) }
        let flags = isNew ? O_CREAT | O_EXCL : 0
        let opened = open(partialPath, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0o666)
        guard opened >= 0 else { throw .unwritableFile(partialPath, errno) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(opened)
            throw .notARegularFile(partialPath)
        }
        return opened
    }

    /// Writes bytes at the current offset.
    func write(_ bytes: RawSpan) throws(StreamError) {
        guard let descriptor else { throw .closed }
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unwritableFile(partialPath, errno) }
            written += count
        }
    }

    /// Sets the modification time to the date of the resource, so that the rest can be requested later.
    func date(_ date: HTTPDate) {
        guard let descriptor else { return }
        let time = timespec(tv_sec: Int(date.secondsSinceEpoch), tv_nsec: 0)
        _ = [time, time].withUnsafeBufferPointer { futimens(descriptor, $0.baseAddress) }
    }

    /// Gives the complete file its name, and the mode of the file that it replaces.
    func finish() throws(StreamError) {
        if isWhole, descriptor == nil { return }
        var status = stat()
        if let descriptor, stat(path, &status) == 0 { fchmod(descriptor, status.st_mode & 0o7777) }
        guard rename(partialPath, path) == 0 else { throw .unwritableFile(path, errno) }
    }
}
