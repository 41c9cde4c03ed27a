@_spi(Packages) internal import HTTPMessage
internal import StreamKit

/// The state of a download: what has been written, and how the rest is requested. No I/O.
struct DownloadState: Sendable {
    /// What to do with a response.
    enum Action: Hashable, Sendable {
        /// Write the body at ``DownloadState/offset``, and call ``DownloadState/end()``.
        case write
        /// The file is complete.
        case complete
        /// The response is no part of the file.
        case leaveFile
        /// Send another request, for everything: the kept part is not that of the resource, or cannot be completed.
        case again
    }

    /// The number of bytes of the resource that the file contains.
    var offset: Int64
    /// The strong validator of these bytes for `If-Range`; nil if the rest cannot be requested.
    private(set) var validator: String?
    /// The length of the resource that is being completed; nil if it is unknown.
    private(set) var length: Int64?
    /// The date of the resource, if it is a strong validator.
    private(set) var lastModified: HTTPDate?

    /// The end of the part that is being written; nil if the framing of the response alone determines the end.
    private var partEnd: Int64?
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
    ///
    /// - Throws: an error for a part that was not requested. A request for the rest is answered by it or by everything; any other
    ///   part leads to a request for everything.
    mutating func begin(_ response: HTTPResponse) throws(StreamError) -> Action {
        switch response.status.code {
        case 200:
            (offset, partEnd, length) = (0, nil, nil)
            lastModified = response.strongLastModified
            validator = response.strongEntityTag ?? lastModified?.description
        case 206:
            guard isResumable else { throw .wrongPart }
            // The part may begin before the requested one. A file that was complete, but is shorter than the resource, gets nothing
            // added.
            guard !isWhole, isOfSameVersion(response),
                case .part(let range, let total) = response.continuation(from: offset)
            else { return giveUpRest() }
            (offset, partEnd, length) = (range.lowerBound, range.upperBound, total)
            // With If-Range, a server may leave the validators out (RFC 9110 §15.3.7).
            lastModified = response.strongLastModified ?? lastModified
            validator = response.strongEntityTag ?? validator
        case 416 where isResumable:
            return response.continuation(from: offset) == .complete ? .complete : giveUpRest()
        default: return .leaveFile
        }
        isWhole = false
        return .write
    }

    /// Ends the body. Returns whether the file is complete; if not, the rest must be requested.
    ///
    /// - Throws: an error for a body whose length contradicts its range.
    mutating func end() throws(StreamError) -> Bool {
        guard let partEnd else { return true }
        guard offset == partEnd else { throw .wrongPart }
        // Without a length, the response 416 to the next request says that this was all.
        return offset == length
    }

    private mutating func giveUpRest() -> Action {
        (validator, isWhole) = (nil, false)
        return .again
    }

    /// Whether a part belongs to the version of the kept bytes. The server has compared the validator, but a part of another version would
    /// be a broken file.
    private func isOfSameVersion(_ response: HTTPResponse) -> Bool {
        if let tag = response.fields[.entityTag], let validator, validator.utf8.first == UInt8(ascii: "\"") {
            return tag == validator
        }
        guard let date = response.fields[.lastModified].flatMap({ HTTPDate($0) }), let lastModified else { return true }
        return date == lastModified
    }
}
