internal import EventLoops
public import FoundationEssentials
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
    ///   - timeout: The time limit of the download; nil for ``HTTPOptions/totalTimeout``.
    ///   - progress: Called while bytes are received, on any thread.
    public func download(
        _ url: URL, to path: String, resuming: Bool = false, within timeout: Duration? = nil,
        progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(StreamError) -> HTTPResponse {
        try await download(.get(url), to: path, resuming: resuming, within: timeout, progress: progress)
    }

    /// Loads a resource into a file.
    ///
    /// The bytes are written to a file beside it, with the suffix `.part`, which gets its name when it is complete: an existing file
    /// is replaced only by a complete one. After an error, the `.part` file remains. If ``Configuration/retries`` permits, the rest is
    /// requested after a lost connection. The files are those of `ReplacementFile`: a `.part` file that another user made is refused,
    /// and the file keeps the mode of the one that it replaces. They are read and written on the threads for files of the device
    /// (`BlockingThreads`); a call that has not returned within 60 s ends the download.
    ///
    /// With `resuming`, a `.part` file of an earlier call is completed if the server's resource is unchanged since then
    /// (`If-Range`, RFC 9110 §13.1.5), by its `Last-Modified`, which is the modification time of the file; otherwise the
    /// download begins again. A server may send less than the rest, or more: what follows is requested until the file has the length that
    /// `Content-Range` states. Without a `.part` file, a complete file is kept in the same way: the request is for the bytes after its
    /// end, and the response 416 says that there are none. The file has the bytes of the resource, without a content coding that the server might otherwise use.
    ///
    /// - Parameters:
    ///   - request: The request, without a body and without `Range` and `If-Range`.
    ///   - path: The path of the file.
    ///   - resuming: Whether the rest of an earlier download is loaded.
    ///   - timeout: The time limit of the download; nil for ``HTTPOptions/totalTimeout``. ``Configuration/readTimeout`` limits the wait
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
        try await download(request, into: try await DownloadFile(path, resuming: resuming), options, progress)
    }

    func download(
        _ request: HTTPRequest, into file: consuming DownloadFile, _ options: LoadOptions,
        _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) -> HTTPResponse {
        do throws(StreamError) {
            return try await complete(&file, request, options, progress)
        } catch {
            // A call on the file may still be running: another download must not begin beside it.
            if error.reason != .unansweredCall { await file.release() }
            throw error
        }
    }

    private func complete(
        _ file: inout DownloadFile, _ request: HTTPRequest, _ options: LoadOptions,
        _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) -> HTTPResponse {
        var download = DownloadState(file.kept, isWhole: file.isWhole)
        var retries = 0
        while true {
            do throws(StreamError) {
                if let response = try await attempt(&download, request, &file, options, &retries, progress) {
                    return response
                }
            } catch {
                // A call on the file may still be running: nothing else may be written meanwhile.
                if error.reason == .unansweredCall { throw error }
                if download.offset > 0, let date = download.lastModified { await file.setDate(date) }
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

    /// Sends a request. Returns the response, or nil if another request is needed.
    private func attempt(
        _ download: inout DownloadState, _ request: HTTPRequest, _ file: inout DownloadFile, _ options: LoadOptions,
        _ retries: inout Int, _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) -> HTTPResponse? {
        let stream = try await openRetrying(try download.request(for: request), nil, options, &retries)
        defer { stream.close() }
        var response = try await stream.response()
        switch try download.begin(response) {
        case .leaveFile:
            response.body = try await body(of: stream, upTo: 1 << 16)
            return response
        case .complete: break
        case .again: return nil
        case .write:
            try await file.begin(at: download.offset)
            do throws(StreamError) {
                try await receive(stream, &download, file, progress)
            } catch {
                throw error.with(stream.report)
            }
            let isComplete = try download.end()
            if let date = download.lastModified { await file.setDate(date) }
            if !isComplete { return nil }
        }
        try await file.finish(download.offset)
        response.isFileComplete = true
        return response
    }

    /// Writes the body of a response. What has arrived before an error is written as well.
    private func receive(
        _ stream: ReadStream, _ download: inout DownloadState, _ file: DownloadFile,
        _ progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(StreamError) {
        var reported = HTTPProgress()
        reported.toReceive = download.length ?? stream[.httpBodyLength]
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        var result = Result<Void, StreamError>.success(())
        do throws(StreamError) {
            try stream.set(.readTimeout, to: stream[.readTimeout] ?? configuration.readTimeout)
            while case let count = try await stream.read(into: &piece), count > 0 {
                received += piece[..<count]
                reported.received = download.offset + Int64(received.count)
                progress?(reported)
                if received.count >= DownloadFile.pieceSize {
                    // What could not be written once is not written again below.
                    let piece = received
                    received = []
                    try await file.write(piece, at: download.offset)
                    download.offset += Int64(piece.count)
                }
                try StreamError.checkCancellation()
            }
        } catch {
            result = .failure(error)
        }
        if !received.isEmpty {
            try await file.keep(received, at: download.offset)
            download.offset += Int64(received.count)
        }
        try result.get()
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
