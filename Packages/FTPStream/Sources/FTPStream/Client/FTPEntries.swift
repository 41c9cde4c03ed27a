internal import Glibc
public import StreamKit

/// The entries of a directory as a sequence, parsed while the listing is received.
///
/// ```swift
/// for try await entry in client.entries("pub") where entry.kind == .file {
///     print(entry.name, entry.size ?? 0)
/// }
/// ```
///
/// The directory itself and its parent are omitted. Each iteration lists the directory again and uses one session until it ends;
/// leaving it early aborts the listing.
public struct FTPEntries: AsyncSequence, Sendable {
    let client: FTPClient
    let path: FTPPath
    /// The most bytes of the listing; nil for no limit.
    let maximumLength: Int?

    /// Creates an iterator, which requests the listing when it returns the first entry.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client.limited(client.lister(path)), client.listingOptions(now: Int64(time(nil))), maximumLength)
    }

    /// The entries of one listing.
    public struct Iterator: AsyncIteratorProtocol {
        let stream: ReadStream
        private var parser: ListingParser
        private var rest: [UInt8] = []
        private var used = 0
        private var hasBegun = false
        private var isAtEnd = false
        /// The entries that the end of the listing has decided, in reverse.
        private var last: [ListingEntry] = []
        private var received = 0
        private let maximumLength: Int?

        /// The lines that could not be read so far, or only by a guess; each may stand for a further entry.
        public var unread: UnreadLines { parser.unread }

        init(_ stream: ReadStream, _ options: ListingOptions, _ maximumLength: Int?) {
            self.stream = stream
            self.maximumLength = maximumLength
            parser = ListingParser(options)
        }

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> ListingEntry? { try await next(isolation: nil) }

        /// Returns the next entry; nil at the end.
        ///
        /// - Throws: the server's refusal, or an error for a line longer than `ListingOptions.maximumLineLength`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StreamError) -> ListingEntry? {
            do {
                while !isAtEnd {
                    // One read may have brought thousands of lines, of which none need be an entry.
                    if stream.waitPoint.loop.isShareSpent { await Task.yield() }
                    switch try parseReceived() {
                    case .entry(let entry): return entry
                    case .linesOnly: continue
                    case .nothing: break
                    }
                    if hasBegun {
                        // The caller may not be on the loop.
                        await Task.yield()
                    } else {
                        hasBegun = true
                        try stream.open()
                    }
                    let chunk = try await stream.read(upTo: ReadStream.chunkSize)
                    rest.removeFirst(used)
                    used = 0
                    guard chunk.isEmpty else {
                        received += chunk.count
                        if let maximumLength, received > maximumLength {
                            throw StreamError(domain: .ftp, code: 200, sentence: .listingTooLong(maximumLength))
                        }
                        rest += chunk
                        continue
                    }
                    isAtEnd = true
                    stream.close()
                    let rest = rest
                    last = try parser.finish(rest.span.bytes).reversed().filter { $0.relation == .inside }
                }
                return last.popLast()
            } catch let error as ListingError {
                throw end(
                    StreamError(
                        domain: .ftp, code: 200, sentence: Sentence("ftp.listing", "%1", error.description),
                        underlying: error))
            } catch {
                throw end(error as? StreamError ?? .closed)
            }
        }

        private mutating func end(_ error: StreamError) -> StreamError {
            isAtEnd = true
            stream.close()
            return error
        }

        /// What was found among the received bytes.
        private enum Finding {
            case entry(ListingEntry)
            /// Lines that are no entries; further ones may follow.
            case linesOnly
            /// More bytes are needed.
            case nothing
        }

        /// The lines that are parsed without asking whether the share of the turn is spent.
        private static let linesPerStep = 32

        private mutating func parseReceived() throws(ListingError) -> Finding {
            let rest = rest
            for _ in 0..<Self.linesPerStep {
                guard used < rest.count else { return .nothing }
                let step = try parser.parse(rest.span.bytes.extracting(droppingFirst: used))
                if step.consumed == 0 { return .nothing }
                used += step.consumed
                if let entry = step.entry, entry.relation == .inside { return .entry(entry) }
            }
            return .linesOnly
        }
    }
}

extension Sentence {
    fileprivate static func listingTooLong(_ limit: Int) -> Sentence {
        Sentence("ftp.listingLength", "The listing has more than %1 bytes; read its entries one at a time.", "\(limit)")
    }
}
