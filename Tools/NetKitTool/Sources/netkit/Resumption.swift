import NetKit

/// What a response to a request for the rest of a file means for the part that is here.
enum Resumption: Equatable {
    /// The body is this part of the file, which begins within the bytes that are here; the length is that of the file, nil if it is
    /// unknown.
    case part(Range<Int64>, length: Int64?)
    /// The body is the whole file, and replaces the part.
    case whole
    /// There is nothing left to transfer.
    case complete
    /// The part does not belong to the server's file, or the server does not say: the whole is requested.
    case restart
    /// The response cannot be used, for this reason.
    case refusal(Sentence)

    /// - Parameters:
    ///   - response: a response without an error other than 416.
    ///   - offset: the number of bytes that are here, above 0.
    ///   - hasEnd: whether the end of the body is marked, by a length or by chunks.
    init(_ response: HTTPResponse, at offset: Int64, hasEnd: Bool) {
        switch response.continuation(from: offset) {
        case .part(let range, let length): self = .part(range, length: length)
        case .complete: self = .complete
        case .unusable: self = .restart
        case .other:
            // A server that does not support ranges sends the whole file. Without its length, it could not be told whether the
            // whole that replaces the part is complete.
            self =
                hasEnd
                ? .whole
                : .refusal(
                    Sentence(
                        "tool.range",
                        "The server did not resume at byte %1, and sends the whole file without its length.",
                        String(offset)))
        }
    }
}
